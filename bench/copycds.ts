import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { burn } from '../test/lab/media/burn.ts';
import { anacondaTree, debianTree, type Tree, withMd5Sums } from '../test/lab/media/trees.ts';
import { bindTo, clientCore, run } from './process.ts';
import { atMost, compare, median, type Row } from './report.ts';
import { newDirectory, root, startMuster } from './server.ts';

const packages = 1_000;
const packageSize = 1_000_000;
const rounds = 5;

interface Figures {
  readonly copied: number[];
  readonly extracted: number[];
  /** Unpacked and on the disk. */
  readonly synced: number[];
  readonly verified: number[];
}

/** A medium of a gigabyte copied, verified and defined, against unpacking it with bsdtar. */
export async function* copycds(): AsyncIterable<Row> {
  await bindTo(undefined);
  try {
    const rpm = await measured('fedora42/x86_64', { ...anacondaTree('Fedora', '42'), ...manyFiles('Packages', 'rpm') });
    yield compare(
      'copycds of 1 GB, few files with checksums',
      median(rpm.copied),
      median(rpm.extracted),
      'ms',
      atMost(1.3),
      'bsdtar',
    );
    yield compare('  the same', median(rpm.copied), median(rpm.synced), 'ms', undefined, 'bsdtar, sync -f');
    const deb = await measured('debian12.12/x86_64', withMd5Sums({ ...debianTree(), ...manyFiles('pool', 'deb') }));
    yield compare(
      'copycds of 1 GB, all with MD5 sums',
      median(deb.copied),
      median(deb.extracted),
      'ms',
      atMost(2.2),
      'bsdtar',
    );
    yield compare('  the same', median(deb.copied), median(deb.synced), 'ms', undefined, 'bsdtar, sync -f');
    yield compare(
      '  the same',
      median(deb.copied),
      median(deb.verified),
      'ms',
      undefined,
      'bsdtar, sync -f, md5sum -c',
    );
  } finally {
    await bindTo(clientCore);
  }
}

/** Different files with random content. */
function manyFiles(directory: string, ending: string): Tree {
  const content = randomBytes(packageSize);
  return Object.fromEntries(
    Array.from({ length: packages }, (_, number) => {
      const own = Buffer.from(content);
      createHash('sha256').update(String(number)).digest().copy(own);
      return [`${directory}/${number % 26}/package-${number}.${ending}`, own];
    }),
  );
}

async function measured(place: string, tree: Tree): Promise<Figures> {
  const directory = newDirectory();
  const installdir = join(directory, 'install');
  const unpacked = join(directory, 'unpacked');
  mkdirSync(installdir);
  const iso = burn(installdir, 'medium', tree);
  const muster = await startMuster({ allCores: true });
  const client = await muster.connect();
  const call = (method: 'POST' | 'PUT', path: string, body: object) =>
    client.expect({ method, path: root + path, body });
  await call('PUT', '/globalconf/attrs/installdir', { installdir });
  // Nobody pays for what others have left to be written.
  const sync = () => run(['sync', '-f', directory]);
  const figures: Figures = { copied: [], extracted: [], synced: [], verified: [] };
  for (let round = 0; round < rounds; round++) {
    rmSync(join(installdir, place), { recursive: true, force: true });
    await sync();
    figures.copied.push(await timed(() => call('POST', '/osimages', { iso })));
    rmSync(unpacked, { recursive: true, force: true });
    mkdirSync(unpacked);
    await sync();
    const extracted = await timed(() => run(['bsdtar', '-x', '-C', unpacked, '-f', iso]));
    const synced = extracted + (await timed(sync));
    figures.extracted.push(extracted);
    figures.synced.push(synced);
    if (tree['md5sum.txt'] === undefined) continue;
    const check = 'cd "$1" && md5sum --quiet -c md5sum.txt';
    figures.verified.push(synced + (await timed(() => run(['sh', '-c', check, 'sh', unpacked]))));
  }
  client.close();
  await muster.stop();
  rmSync(directory, { recursive: true });
  return figures;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
