import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startLightBmcs } from '../test/lab/light-bmc.ts';
import { memory, processorTime } from './process.ts';
import { atMost, type Benchmark, compare, figure } from './report.ts';
import { type Muster, root, startMuster } from './server.ts';
import { putNodes, slowSimulators } from './service-processors.ts';

const count = 5_000;
/** Milliseconds of processor time in a second, and MiB. */
const allowed = { processor: 500, memory: 1_024 };
const seconds = 60;
/** Seconds in which all consoles must be open. */
const mostOpening = 600;

async function connected(muster: Muster): Promise<number> {
  const client = await muster.connect();
  const { body } = await client.expect({ method: 'GET', path: `${root}/metrics`, keepBody: true });
  client.close();
  return Number(/^muster_consoles_connected (\d+)$/m.exec(body!.toString())?.[1] ?? 0);
}

/** Lines in all logs, but for those that wait to be written. */
async function logged({ data }: Muster): Promise<number> {
  const directory = join(data, 'consoles');
  let lines = 0;
  for (const name of await readdir(directory)) {
    const text = await readFile(join(directory, name));
    for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) lines++;
  }
  return lines;
}

/** So many consoles that are kept open and logged, each of which prints a line a second. */
export const consoles: Benchmark = {
  name: 'consoles',
  async *rows() {
    const lab = await startLightBmcs({ count, prefix: '127.205', lines: 1_000 });
    try {
      const muster = await startMuster({ env: slowSimulators });
      const client = await muster.connect();
      await putNodes(client, 'bmc', 'ipmi', lab.addresses);
      const began = performance.now();
      await client.expect({
        method: 'PUT',
        path: `${root}/services/console`,
        body: { nodes: 'bmc', action: 'on' },
      });
      client.close();
      for (let i = 0; i < mostOpening && (await connected(muster)) < count; i++) await wait(1_000);
      const opened = (performance.now() - began) / 1_000;
      const open = await connected(muster);
      const linesBefore = await logged(muster);
      const [before, from] = [processorTime(muster.pid), performance.now()];
      await wait(seconds * 1_000);
      const [after, until] = [processorTime(muster.pid), performance.now()];
      const passed = (until - from) / 1_000;
      const took = (after - before) / passed;
      const lines = ((await logged(muster)) - linesBefore) / passed;
      const searcher = await muster.connect();
      const searching = performance.now();
      await searcher.expect({ method: 'GET', path: `${root}/consolelog?search=nowhere&since=1h` });
      const searched = (performance.now() - searching) / 1_000;
      searcher.close();
      const { highest } = memory(muster.pid);
      await muster.stop();
      const name = `${count.toLocaleString('en-US')} console logs, a line a second`;
      yield compare(`${name}: processor time a second`, took, allowed.processor, 'ms', atMost(1), 'allowed');
      yield compare('  highest memory', highest, allowed.memory, 'MiB', atMost(1), 'allowed');
      yield compare('  not connected', count - open, count, 'consoles', atMost(0), 'of');
      // The simulators share the processors: what they do not print costs nothing.
      yield { what: '  lines a second', muster: figure(lines), floor: '', ratio: undefined, bar: undefined };
      const [all, search] = [`${figure(opened)} s`, `${figure(searched)} s`];
      yield { what: '  all are open', muster: all, floor: '', ratio: undefined, bar: undefined };
      yield { what: '  a text is searched in all logs', muster: search, floor: '', ratio: undefined, bar: undefined };
    } finally {
      await lab.stop();
    }
  },
};
