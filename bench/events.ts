import { connect, type TLSSocket } from 'node:tls';
import { setTimeout as wait } from 'node:timers/promises';
import { nodeName } from './cluster.ts';
import { processorTime } from './process.ts';
import { atMost, type Benchmark, compare, figure } from './report.ts';
import { type Muster, root, startMusterWith } from './server.ts';

const nodes = 1_000;
const listeners = 200;
const seconds = 15;
/** Change sets a second, each of a part of the nodes, every node with a value of its own. */
const sets = 10;

/** Somebody who listens and counts the nodes that changes were told of. */
class Listener {
  readonly #socket: TLSSocket;
  #text = '';
  nodes = 0;

  constructor({ port, token }: Muster) {
    this.#socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    this.#socket.write(`GET ${root}/events?kinds=change HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: ${token}\r\n\r\n`);
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk.toString()));
  }

  isReady = false;

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    const end = this.#text.lastIndexOf('\n\n');
    if (end < 0) return;
    const blocks = this.#text.slice(0, end);
    this.#text = this.#text.slice(end);
    if (!this.isReady) this.isReady = blocks.includes('event: ready');
    for (const [names] of blocks.matchAll(/"nodes":\[[^\]]*/g)) this.nodes += names.split('","').length;
  }
}

/** Each second all nodes change once; returns the processor time that the server took, in milliseconds a second. */
async function change(muster: Muster): Promise<number> {
  const client = await muster.connect();
  const before = processorTime(muster.pid);
  const began = performance.now();
  for (let set = 0; set < seconds * sets; set++) {
    const from = (set % sets) * (nodes / sets);
    const body: Record<string, object> = {};
    for (let i = 1; i <= nodes / sets; i++) body[nodeName(from + i)] = { usercomment: `${set} ${i}` };
    await client.expect({ method: 'PUT', path: `${root}/nodes`, body });
    await wait(Math.max(0, began + (set + 1) * (1_000 / sets) - performance.now()));
  }
  const took = (processorTime(muster.pid) - before) / ((performance.now() - began) / 1_000);
  client.close();
  return took;
}

/** What it takes to tell many what happens, and whether all of them hear all of it. */
export const events: Benchmark = {
  name: 'events',
  async *rows() {
    const muster = await startMusterWith(nodes);
    await change(muster);
    const alone = await change(muster);
    const open = Array.from({ length: listeners }, () => new Listener(muster));
    while (open.some(({ isReady }) => !isReady)) await wait(20);
    const told = await change(muster);
    const expected = seconds * nodes;
    for (let i = 0; i < 200 && open.some((one) => one.nodes < expected); i++) await wait(50);
    const lost = open.reduce((sum, one) => sum + Math.abs(expected - one.nodes), 0);
    for (const one of open) one.close();
    await muster.stop();
    yield {
      what: `${listeners} listeners, ${nodes} nodes change a second: events lost`,
      muster: figure(lost),
      floor: `of ${(expected * listeners).toLocaleString('en-US')}`,
      ratio: lost,
      bar: atMost(0),
    };
    yield compare('  server CPU, of a core', told / 10, 100, '%', atMost(0.2), 'one core');
    yield compare('  the same changes with nobody listening', alone / 10, 100, '%', undefined, 'one core');
  },
};
