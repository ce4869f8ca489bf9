import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Call, Connection } from './client.ts';
import { nodeRange } from './cluster.ts';
import { processorTime } from './process.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { newDirectory, root, startMusterWith } from './server.ts';

const sizes = [2_500, 10_000];
const rounds = 7;
/** Rounds that do not count: the engine takes its time to compile what runs often. */
const warmUps = 2;
/** More than a PUT: it checks what would keep a node from booting, keeps what was decided, and has a result for each node. */
const bar = atMost(3);
/** What the installer of each node would get is made besides. */
const installBar = atMost(4.5);
const image = { imagetype: 'linux', provmethod: 'netboot', osarch: 'x86_64' };

/** An image that is installed, with as much of its tree as is looked at. */
async function defineInstalled(client: Connection, names: readonly string[]): Promise<void> {
  const installdir = newDirectory();
  const pkgdir = join(installdir, 'rocky9.6', 'x86_64');
  const kernels = join(pkgdir, 'images', 'pxeboot');
  mkdirSync(kernels, { recursive: true });
  for (const name of ['vmlinuz', 'initrd.img']) writeFileSync(join(kernels, name), '');
  await client.expect({ method: 'PUT', path: `${root}/globalconf/attrs/installdir`, body: { installdir } });
  const body = { ...image, provmethod: 'install', osvers: 'rocky9.6', profile: 'compute', pkgdir };
  for (const name of names) await client.expect({ method: 'POST', path: `${root}/osimages/${name}`, body });
}

/** The same columns of the same nodes, written by a change of attributes. */
const attributes = (round: number) => ({
  os: `os${round}`,
  profile: `p${round}`,
  provmethod: `img${round}`,
  arch: 'x86_64',
  currstate: `netboot os${round}-x86_64-p${round}`,
});

/** Milliseconds of the server's processor time. */
async function costOf(pid: number, client: Connection, call: (round: number) => Call): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = processorTime(pid);
    await client.expect(call(round));
    taken.push(processorTime(pid) - before);
  }
  return median(taken.slice(warmUps));
}

/** What nodes boot, of all of them in one request. */
export const bootstate: Benchmark = {
  name: 'bootstate',
  async *rows() {
    for (const size of sizes) {
      const muster = await startMusterWith(size);
      const client = await muster.connect();
      for (let round = 0; round < rounds; round++) {
        const body = { ...image, osvers: `os${round}`, profile: `p${round}` };
        await client.expect({ method: 'POST', path: `${root}/osimages/img${round}`, body });
      }
      const installed = ['inst0', 'inst1'] as const;
      await defineInstalled(client, installed);
      const path = `${root}/nodes/${nodeRange(1, size)}`;
      const setTo = (body: object): Call => ({ method: 'PUT', path: `${path}/bootstate`, body });
      // Nobody has built these.
      const set = await costOf(muster.pid, client, (round) => setTo({ osimage: `img${round}`, force: true }));
      const install = await costOf(muster.pid, client, (round) => setTo({ osimage: installed[round % 2]! }));
      const put = await costOf(muster.pid, client, (round) => ({ method: 'PUT', path, body: attributes(round) }));
      client.close();
      await muster.stop();
      yield compare(`PUT bootstate of ${size} nodes, an image, CPU`, set, put, 'ms', bar, 'PUT of the same');
      yield compare('  an image that is installed, CPU', install, put, 'ms', installBar, 'PUT of the same');
    }
  },
};
