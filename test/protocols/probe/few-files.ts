/** Runs with few files it may open: looks at far more ports than that, and then with no file left. Prints what was seen. */
import { openSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { PortProbe } from '../../../src/protocols/probe/ports.ts';

const address = '127.145.0.1';
const port = 17_022;
const server = createServer((socket) => socket.destroy()).listen(port, address);
await once(server, 'listening');
const probe = new PortProbe();
const look = (): Promise<string> => probe.state(address, port, new AbortController().signal);

const states = await Promise.all(Array.from({ length: 500 }, look));
const open = states.filter((state) => state === 'open').length;
takeAll();
const without = await look().catch((error: unknown) => String(error));
process.stdout.write(JSON.stringify({ open, without }));
process.exit();

function takeAll(): void {
  try {
    for (;;) openSync('/dev/null', 'r');
  } catch {
    // None is left.
  }
}
