import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { ports } from './configuration.ts';

/** Milliseconds after which a machine that is off is looked for again. */
const interval = 200;

/** Joins ipmi_sim, which connects once, with the serial line of a machine, which is there while it runs. */
export async function relaySerial(address: string): Promise<Server> {
  let bmc: Socket | undefined;
  let machine: Socket | undefined;
  let isOver = false;
  const join = (): void => {
    if (isOver) return;
    const line = connect(ports.serial, address);
    line.on('connect', () => (machine = line));
    line.on('data', (bytes) => bmc?.write(bytes));
    line.on('error', () => undefined);
    line.on('close', () => {
      machine = undefined;
      setTimeout(join, interval).unref();
    });
  };
  const server = createServer((socket) => {
    bmc = socket.on('error', () => undefined);
    socket.on('data', (bytes) => machine?.write(bytes));
  });
  server.listen(ports.relay, address);
  await once(server, 'listening');
  server.once('close', () => {
    isOver = true;
    machine?.destroy();
  });
  join();
  return server;
}
