import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { squashfsOptions } from '../src/images/pack/packed-root.ts';
import { debianMirror } from '../test/lab/debian-mirror.ts';
import { run } from './process.ts';
import { atMost, type Benchmark, compare, median, type Row } from './report.ts';
import { root, startMuster } from './server.ts';

const rounds = 3;
/** Pairs of packs in each round: one takes seconds, in which the machine's speed changes by more than what is measured. */
const packs = 4;
const arm = process.arch === 'arm64';
const packages = [`linux-image-cloud-${arm ? 'arm64' : 'amd64'}`, 'openssh-server', 'systemd-sysv', 'iproute2'];

/** Building and packing a Debian image, against the same calls of the tools alone. */
export const imagesBuild: Benchmark = {
  name: 'images-build',
  async *rows() {
    installMissing(
      testPackages.filter(({ name }) => ['mmdebstrap', 'squashfs-tools', 'busybox-static', 'kmod'].includes(name)),
      'the benchmark of images',
    );
    const top = mkdtempSync(join(tmpdir(), 'muster-bench-images-'));
    try {
      yield* measure(top);
    } finally {
      rmSync(top, { recursive: true });
    }
  },
};

async function* measure(top: string): AsyncIterable<Row> {
  const muster = await startMuster({ allCores: true });
  try {
    const client = await muster.connect();
    const call = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<number> => {
      const began = performance.now();
      await client.expect({ method, path: root + path, ...(body ? { body } : {}) });
      return (performance.now() - began) / 1_000;
    };
    const timed = async (command: readonly string[]): Promise<number> => {
      const began = performance.now();
      await run(command);
      return (performance.now() - began) / 1_000;
    };
    const installdir = join(top, 'install');
    mkdirSync(installdir);
    writeFileSync(join(installdir, 'bench.pkglist'), `${packages.join('\n')}\n`);
    await call('PUT', '/globalconf/attrs/installdir', { installdir });
    const mirror = debianMirror();
    const osarch = arm ? 'aarch64' : 'x86_64';
    const attributes = { imagetype: 'linux', osvers: 'debian12', osarch, profile: 'bench', provmethod: 'netboot' };
    const lists = { pkgdir: mirror, pkglist: join(installdir, 'bench.pkglist') };
    await call('POST', '/osimages/bench', { ...attributes, ...lists });
    const times = {
      gen: [] as number[],
      bareGen: [] as number[],
      pack: [] as number[],
      barePack: [] as number[],
      idle: [] as number[],
    };
    const tree = join(installdir, 'netboot/debian12', osarch, 'bench/rootimg');
    for (let round = 0; round < rounds; round++) {
      const bare = join(top, `bare-${round}`);
      times.bareGen.push(
        await timed([
          'mmdebstrap',
          '--quiet',
          '--mode=root',
          '--variant=minbase',
          '--aptopt=Acquire::Languages "none"',
          `--include=${packages.join(',')}`,
          'bookworm',
          bare,
          `deb ${mirror} bookworm main`,
        ]),
      );
      rmSync(bare, { recursive: true });
      times.gen.push(await call('POST', '/osimages/bench/instance', { action: 'gen', params: [{ anew: '' }] }));
      times.idle.push(await call('POST', '/osimages/bench/instance', { action: 'gen' }));
      for (let pair = 0; pair < packs; pair++) {
        const file = join(top, 'bare.sfs');
        times.barePack.push(await timed(['mksquashfs', tree, file, ...squashfsOptions('zstd')]));
        rmSync(file);
        times.pack.push(await call('POST', '/osimages/bench/instance', { action: 'pack' }));
        // What it has staged is removed meanwhile, not beside the other.
        await pause(1_000);
      }
    }
    yield compare('gen of a Debian image', median(times.gen), median(times.bareGen), 's', atMost(1.1), 'mmdebstrap');
    yield compare(
      'gen when nothing has changed',
      median(times.idle),
      median(times.bareGen),
      's',
      undefined,
      'mmdebstrap',
    );
    yield compare('pack of it as squashfs', median(times.pack), median(times.barePack), 's', atMost(1.2), 'mksquashfs');
  } finally {
    await muster.stop();
  }
}
