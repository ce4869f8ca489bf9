import type { Socket } from 'node:net';
import { Fault } from '../../core/errors.ts';

/** How often it is looked, in milliseconds. */
const interval = 1_000;
/** Bytes within that time: several of the largest collections, and more than the network of a service processor carries. */
const most = 32 * 1024 * 1024;

/** Sockets with where they lead, and how many bytes had come when they were last looked at. */
const watched = new Map<Socket, { readonly where: string; before: number }>();
let timer: NodeJS.Timeout | undefined;

/**
 * Ends a connection over which more comes than anybody asks for. What is part of no body, such as words behind a status, is
 * counted nowhere else, and going over it would keep a processor busy until the deadline.
 */
export function watchForFlood(socket: Socket, where: string): void {
  watched.set(socket, { where, before: socket.bytesRead });
  socket.once('close', () => {
    watched.delete(socket);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
  timer ??= setInterval(look, interval).unref();
}

function look(): void {
  for (const [socket, known] of watched) {
    const received = socket.bytesRead - known.before;
    known.before += received;
    if (received <= most) continue;
    socket.destroy(new Fault('garbled', `what answers at ${known.where} sent ${received} bytes within a second.`));
  }
}
