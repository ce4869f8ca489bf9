import { once } from 'node:events';
import { request } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { startLightBmcs } from '../test/lab/light-bmc.ts';
import { processorTime } from './process.ts';
import { atMost, type Benchmark, compare } from './report.ts';
import { type Muster, root, startMuster } from './server.ts';
import { putNodes, slowSimulators } from './service-processors.ts';

const count = 50;
/** Milliseconds of processor time in a second: a third of a core. */
const allowed = 333;
const seconds = 30;

/** What a page of the web console with a serial console keeps open: the console, and the stream of events. Resolves when the console prints. */
async function openPage({ port, token }: Muster, node: string): Promise<() => void> {
  const headers = { 'X-Auth-Token': token };
  const events = request({ port, path: `${root}/events`, headers, rejectUnauthorized: false }).end();
  const [reply] = await once(events, 'response');
  reply.resume();
  const socket = new WebSocket(`wss://127.0.0.1:${port}${root}/nodes/${node}/console`, {
    headers,
    rejectUnauthorized: false,
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.on('message', (_data, isBinary) => isBinary && resolve());
  });
  return () => {
    socket.terminate();
    events.destroy();
  };
}

/** Pages of the web console with the serial console of a node each, which prints a line ten times a second. */
export const consolePages: Benchmark = {
  name: 'console-pages',
  async *rows() {
    const lab = await startLightBmcs({ count, prefix: '127.217', lines: 100 });
    try {
      const muster = await startMuster({ env: slowSimulators });
      const client = await muster.connect();
      await putNodes(client, 'bmc', 'ipmi', lab.addresses);
      const names = Array.from({ length: count }, (_, i) => `bmc${i + 1}`);
      const pages = await Promise.all(names.map((name) => openPage(muster, name)));
      const before = processorTime(muster.pid);
      await wait(seconds * 1_000);
      const took = (processorTime(muster.pid) - before) / seconds;
      for (const close of pages) close();
      client.close();
      await muster.stop();
      const name = `server CPU of ${count} pages with consoles that print 10 lines a second`;
      yield compare(name, took, allowed, 'ms/s', atMost(1), 'allowed');
    } finally {
      await lab.stop();
    }
  },
};
