import { connect } from 'node:net';
import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import { decodeReply, type Reply, statedLength } from './message.ts';

/** Far more than any agent has to say. */
const mostBytes = 1_048_576;

/** Asks over TCP, where replies of any length fit; undefined if there is no whole reply in time. */
export function askByTcp(
  host: string,
  port: number,
  request: Buffer,
  milliseconds: number,
  signal: AbortSignal,
): Promise<Reply | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const chunks: Buffer[] = [];
    let length = 0;
    let wanted: number | undefined;
    const end = (reply: Reply | undefined): void => {
      clearTimeout(timer);
      unwatchAbort(signal, waiting);
      socket.destroy();
      resolve(reply);
    };
    const waiting = { aborted: () => end(undefined) };
    const timer = setTimeout(waiting.aborted, milliseconds);
    watchAbort(signal, waiting);
    socket.on('connect', () => socket.write(request));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length < 5) return;
      wanted ??= statedLength(Buffer.concat(chunks)) ?? Number.POSITIVE_INFINITY;
      if (wanted > mostBytes) end(undefined);
      else if (length >= wanted) end(decodeReply(Buffer.concat(chunks)));
    });
    socket.on('error', () => end(undefined));
    socket.on('close', () => end(undefined));
  });
}
