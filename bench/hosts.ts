import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Benchmark, compare, median, type Row } from './report.ts';
import { newDirectory, root, startMuster } from './server.ts';

const counts = [5_000, 10_000] as const;
const rounds = 9;

/** The nodes' lines in the hosts file, against writing the same bytes to a file that takes its place. */
export const hosts: Benchmark = {
  name: 'hosts',
  async *rows() {
    for (const count of counts) yield* measure(count);
  },
};

async function* measure(count: number): AsyncIterable<Row> {
  const file = join(newDirectory(), 'hosts');
  const muster = await startMuster({ env: { MUSTER_HOSTS_FILE: file } });
  const client = await muster.connect();
  const call = async (method: 'POST' | 'PUT', path: string, body?: object): Promise<number> => {
    const began = performance.now();
    await client.expect({ method, path: root + path, ...(body ? { body } : {}) });
    return performance.now() - began;
  };
  const address = (i: number): string => `10.77.${Math.floor(i / 250) + 1}.${(i % 250) + 1}`;
  const nodes = Array.from({ length: count }, (_, i) => [`h${i}`, { groups: 'all', ip: address(i) }] as const);
  await call('PUT', '/globalconf/attrs/domain', { domain: 'cluster.test' });
  await call('PUT', '/nodes', Object.fromEntries(nodes));
  const times = { all: [] as number[], one: [] as number[], floor: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    rmSync(file, { force: true });
    times.all.push(await call('POST', '/services/host'));
    times.one.push(await call('POST', '/nodes/h7/host'));
    times.floor.push(replaced(file, readFileSync(file)));
  }
  client.close();
  await muster.stop();
  yield compare(
    `Hosts file: lines of ${count} nodes`,
    median(times.all),
    median(times.floor),
    'ms',
    undefined,
    'bytes',
  );
  yield compare('  one more node', median(times.one), median(times.floor), 'ms', undefined, 'bytes');
}

/** Milliseconds that the least takes: the bytes in a new file, synced, in place of the old one. */
function replaced(file: string, bytes: Buffer): number {
  const began = performance.now();
  const handle = openSync(`${file}.floor`, 'w');
  writeSync(handle, bytes);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(`${file}.floor`, file);
  return performance.now() - began;
}
