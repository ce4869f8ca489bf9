import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './process.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { newDirectory, root, startMuster } from './server.ts';

const rounds = 3;
const files = 6_000;
/** 300 MB in all, half of which can be compressed. */
const fileBytes = 50_000;

/**
 * An image made of a container of 300 MB in a layout, through the service, against `umoci unpack` of it. Each begins when what the other
 * has written is on the disk. Nothing is removed before the end: ext4 without a journal passes over inodes that were freed in the last
 * minutes, one by one for every new file, and whoever comes next would pay for that.
 */
export const imagesOci: Benchmark = {
  name: 'images-oci',
  async *rows() {
    const directory = newDirectory();
    const layout = join(directory, 'install', 'bench.oci');
    await makeLayout(join(directory, 'tree'), layout);
    const sync = () => run(['sync', '-f', directory]);
    const muster = await startMuster({ allCores: true });
    const client = await muster.connect();
    const call = (method: 'POST' | 'PUT', path: string, body: object) =>
      client.expect({ method, path: root + path, body });
    await call('PUT', '/globalconf/attrs/installdir', { installdir: join(directory, 'install') });
    const own: number[] = [];
    const other: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await sync();
      own.push(await seconds(() => call('POST', '/osimages', { file: layout, name: `bench${round}` })));
      await sync();
      const bundle = join(directory, `bundle${round}`);
      other.push(await seconds(() => run(['umoci', 'unpack', '--image', `${layout}:t`, bundle])));
    }
    client.close();
    await muster.stop();
    rmSync(directory, { recursive: true });
    yield compare('An image of a container of 300 MB', median(own), median(other), 's', atMost(1), 'umoci unpack');
  },
};

async function makeLayout(tree: string, layout: string): Promise<void> {
  mkdirSync(join(tree, 'etc'), { recursive: true });
  writeFileSync(join(tree, 'etc/os-release'), 'ID=debian\nVERSION_ID=12\n');
  for (let i = 0; i < files; i++) {
    const inside = join(tree, 'usr/share', String(i % 100));
    if (i < 100) mkdirSync(inside, { recursive: true });
    writeFileSync(
      join(inside, `file${i}`),
      Buffer.concat([randomBytes(fileBytes / 2), Buffer.alloc(fileBytes / 2, 'text ')]),
    );
  }
  mkdirSync(join(layout, '..'), { recursive: true });
  await run(['umoci', 'init', '--layout', layout]);
  await run(['umoci', 'new', '--image', `${layout}:t`]);
  await run(['umoci', 'insert', '--image', `${layout}:t`, tree, '/']);
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}
