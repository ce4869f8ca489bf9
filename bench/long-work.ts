import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Connection } from './client.ts';
import { nodeName } from './cluster.ts';
import { atMost, type Benchmark, compare, quantile } from './report.ts';
import { dataWith, type Muster, newDirectory, root, startMuster } from './server.ts';

const rounds = 5;
const measured = 2_000;
const settled = 1_000;

/** What each of three builds does until it is told to stop: two compute, one prints as fast as it can. */
const busy = ['do :;', 'do :;', 'do echo "0123456789 0123456789 0123456789";'];

export const longWork: Benchmark = {
  name: 'long-work',
  async *rows() {
    const program = join(import.meta.dirname, '../test/lab/toil/server.ts');
    const muster = await startMuster({ data: await dataWith(1_000), program, allCores: true });
    const connection = await muster.connect();
    await timesOf(connection);
    const alone: number[] = [];
    const beside: number[] = [];
    for (let round = 0; round < rounds; round++) {
      alone.push(...(await timesOf(connection)));
      const stop = join(newDirectory(), 'stop');
      const ended = busy.map((body, number) => build(muster, `build${number}`, `until [ -e ${stop} ]; ${body} done`));
      await wait(settled);
      beside.push(...(await timesOf(connection)));
      writeFileSync(stop, '');
      await Promise.all(ended);
    }
    connection.close();
    await muster.stop();
    const p99 = [beside, alone].map((times) => quantile(times, 0.99));
    yield compare('p99 of GET of one node beside three builds', p99[0]!, p99[1]!, 'ms', atMost(2), 'alone');
  },
};

async function build(muster: Muster, name: string, script: string): Promise<void> {
  const connection = await muster.connect();
  const body = { steps: [{ program: ['sh', '-c', script] }] };
  await connection.expect({ method: 'POST', path: `${root}/toil/${name}`, body });
  connection.close();
}

async function timesOf(connection: Connection): Promise<number[]> {
  const times: number[] = [];
  for (const end = performance.now() + measured; performance.now() < end; )
    times.push((await connection.send({ path: `${root}/nodes/${nodeName(1)}` })).took);
  return times;
}
