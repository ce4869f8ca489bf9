import { setTimeout as wait } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { definitions } from './cluster.ts';
import { longestDelay, watchDelays } from './delays.ts';
import { memory } from './process.ts';
import { atMost, type Benchmark, compare, figure, type Row } from './report.ts';
import { root, startMuster } from './server.ts';

const mebibyte = 1_048_576;
/** Milliseconds that others may be held up. */
const allowed = 100;
const heap = 1_024;

/** Sends a whole body and answers the status; undefined if the connection was closed without one. */
async function put(port: number, query: string, header: string, body: Buffer): Promise<number | undefined> {
  const socket = await open(port);
  const status = new Promise<number | undefined>((resolve) => {
    socket.once('data', (chunk: Buffer) => resolve(Number(chunk.toString('latin1', 9, 12))));
    socket.once('close', () => resolve(undefined));
  });
  socket.write(`PUT ${root}/nodes${query} HTTP/1.1\r\nHost: x\r\n${header}Content-Length: ${body.length}\r\n\r\n`);
  socket.write(body);
  return status.finally(() => socket.destroy());
}

function open(port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => resolve(socket));
    socket.on('error', reject);
  });
}

const objects = (bytes: number): string => `{"x":[${'{},'.repeat(bytes / 3 - 10)}{}]}`;
const members = (count: number, value: (i: number) => string): Buffer =>
  Buffer.from(`{${Array.from({ length: count }, (_, i) => `"n${i}":${value(i)}`).join()}}`);

/** What is hard to parse or takes up many times as much memory as text, 25 to 32 MiB each. */
const hostile = {
  'one object of 32 MiB': members(1, () => objects(32 * mebibyte)),
  '31 of 1 MiB each': members(31, () => objects(mebibyte)),
  '2,000,000 of nothing': members(2_000_000, () => '{}'),
};

/** What the bodies of strangers and of users cost everybody else. */
export const bodies: Benchmark = {
  name: 'bodies',
  async *rows() {
    const muster = await startMuster({ node: [...watchDelays, `--max-old-space-size=${heap}`] });
    await longestDelay(muster);
    await wait(1_000);
    const idle = await longestDelay(muster);
    const known = `X-Auth-Token: ${muster.token}\r\n`;
    const delay = async (count: number, what: string, query: string, header: string, body: Buffer): Promise<Row> => {
      const sending = Array.from({ length: count }, () => put(muster.port, query, header, body));
      const statuses = [...new Set(await Promise.all(sending))];
      const longest = await longestDelay(muster);
      const name = `${count} ${what}: status ${statuses.join(', ')}`;
      return compare(name, longest, idle + allowed, 'ms held up', atMost(1), `${figure(idle)} + ${allowed} =`);
    };
    const heavy = hostile['31 of 1 MiB each'];
    yield await delay(40, 'bodies without credentials', '', '', heavy);
    yield await delay(4, 'with a wrong password', '?userName=root&userPW=wrong', '', heavy);
    yield compare('  highest memory by then', memory(muster.pid).highest, 512, 'MiB', atMost(1));
    for (const [what, body] of Object.entries(hostile)) yield await delay(4, `of a user, ${what}`, '', known, body);
    yield compare('  highest memory by then', memory(muster.pid).highest, heap, 'MiB', atMost(1));
    const nodes = Buffer.from(JSON.stringify(definitions(1, 10_000)));
    // Only what is read is read in slices; the change is computed at once.
    yield { ...(await delay(1, 'of a user, 10,000 nodes defined', '', known, nodes)), bar: undefined };
    await muster.stop();
  },
};
