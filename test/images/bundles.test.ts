import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { tarEnd, tarHeader, tarPadding } from '../../src/core/tar/write.ts';
import { type ExportJob, work as exportImage } from '../../src/images/bundles/export.ts';
import { type ImportJob, work as importImage } from '../../src/images/bundles/import.ts';
import { readManifest } from '../../src/images/manifest.ts';
import { work as pack } from '../../src/images/pack/pack.ts';
import { directWork } from '../harness/work.ts';
import { during, listing, packJob, refusal, smallImage, temporary } from './small-image.ts';

const attributes = {
  imagename: 'img',
  imagetype: 'linux',
  osvers: 'debian12',
  osarch: 'x86_64',
  profile: 'compute',
  provmethod: 'netboot',
  pkglist: '/somewhere/compute.pkglist',
  rootimgdir: '/somewhere',
};

const known = [...Object.keys(attributes), 'exlist', 'postinstall', 'kernelver'];

async function exported(): Promise<{ file: string; top: string; directory: string }> {
  const top = temporary();
  const directory = smallImage(top);
  await during((task) => pack(packJob(directory), task));
  writeFileSync(join(top, 'compute.pkglist'), 'tool\n');
  const job: ExportJob = {
    ...packJob(directory),
    attributes,
    files: [{ attribute: 'pkglist', path: join(top, 'compute.pkglist') }],
    packed: true,
    destination: join(top, 'export/img.tgz'),
  };
  const { file } = await during((task) => exportImage(job, task));
  return { file, top, directory };
}

const importJob = (file: string, installDirectory: string): ImportJob => ({
  file,
  installDirectory,
  osarch: 'x86_64',
  taken: [],
  known,
  by: 'bob',
});

describe('a bundle', () => {
  it('brings an image to another management node with its lists', async () => {
    const { file, directory } = await exported();
    const there = temporary();
    const made = await during((task) => importImage(importJob(file, there), task));
    const place = join(there, 'netboot/debian12/x86_64/compute');
    const list = join(there, 'custom/imported/img/compute.pkglist');
    expect(made).toEqual({
      image: 'img',
      attributes: {
        imagetype: 'linux',
        osvers: 'debian12',
        osarch: 'x86_64',
        profile: 'compute',
        provmethod: 'netboot',
        pkglist: list,
        rootimgdir: place,
      },
    });
    expect(readFileSync(list, 'utf8')).toBe('tool\n');
    for (const name of ['rootimg.sfs', 'kernel', 'initrd-stateless.gz'])
      expect(readFileSync(join(place, name)).equals(readFileSync(join(directory, name)))).toBe(true);
    const manifest = (await readManifest(place))!;
    expect(manifest).toMatchObject({
      source: { kind: 'bundle', reference: 'img.tgz' },
      made: { by: 'bob' },
      packages: [{ name: 'tool' }],
    });
    expect(manifest.packs[0]!.parts).toEqual((await readManifest(directory))!.packs[0]!.parts);
    expect(readdirSync(there).sort()).toEqual(['custom', 'netboot']);
  });

  it('is a tar archive that others read', async () => {
    const { file } = await exported();
    const names = execFileSync('tar', ['tzf', file], { encoding: 'utf8' }).trim().split('\n');
    expect(names).toEqual([
      'muster-bundle.json',
      'files/0/compute.pkglist',
      'image/rootimg.sfs',
      'image/kernel',
      'image/initrd-stateless.gz',
    ]);
  });

  it('with a name that is taken, of another architecture, or for a place that is taken is refused with what to do', async () => {
    const { file } = await exported();
    const there = temporary();
    const job = importJob(file, there);
    expect(await refusal(during((task) => importImage({ ...job, taken: ['img'] }, task)))).toContain(
      'params [{"name":"..."}]',
    );
    expect(await refusal(during((task) => importImage({ ...job, osarch: 'aarch64' }, task)))).toContain(
      'params [{"arch":"x86_64"}]',
    );
    expect(readdirSync(there)).toEqual([]);
    mkdirSync(join(there, 'netboot/debian12/x86_64/compute'), { recursive: true });
    const before = listing(there);
    expect(await refusal(during((task) => importImage(job, task)))).toContain('exists already');
    expect(listing(there)).toEqual(before);
    const made = await during((task) => importImage({ ...job, taken: ['img'], name: 'second', profile: 'gpu' }, task));
    expect(made).toMatchObject({
      image: 'second',
      attributes: { profile: 'gpu', rootimgdir: join(there, 'netboot/debian12/x86_64/gpu') },
    });
  });

  it('leaves nothing when its import is cancelled or its export fails', async () => {
    const { file, top, directory } = await exported();
    const there = temporary();
    const task = directWork();
    task.cancel();
    await expect(during(() => importImage(importJob(file, there), task), task)).rejects.toThrow();
    expect(readdirSync(there)).toEqual([]);
    const id = (await readManifest(directory))!.current!;
    truncateSync(join(directory, 'packs', id, 'kernel'), 1);
    const job = {
      ...packJob(directory),
      attributes,
      files: [],
      packed: true,
      destination: join(top, 'export/new.tgz'),
    };
    expect(await refusal(during((work) => exportImage(job, work)))).toContain('was changed while it was read');
    expect(readdirSync(join(top, 'export'))).toEqual(['img.tgz']);
  });

  it('is written over an older one of the same image, and over nothing else', async () => {
    const { top, directory, file } = await exported();
    const job = { ...packJob(directory), attributes, files: [], packed: true, destination: file };
    await during((task) => exportImage(job, task));
    for (const content of ['mine', gzipSync('mine'), gzipSync(Buffer.alloc(2_048))]) {
      writeFileSync(join(top, 'export/mine.tgz'), content);
      const over = { ...job, destination: join(top, 'export/mine.tgz') };
      expect(await refusal(during((task) => exportImage(over, task)))).toContain('is no bundle of the image img');
      expect(readFileSync(over.destination).equals(Buffer.from(content))).toBe(true);
    }
    const other = smallImage(top, 'other', 'other');
    await during((task) => pack({ ...packJob(other), image: 'other' }, task));
    const foreign = { ...job, image: 'other', directory: other };
    expect(await refusal(during((task) => exportImage(foreign, task)))).toContain('is no bundle of the image other');
  });

  it('is not exported over a directory, and not of an image that is not packed', async () => {
    const { top, directory } = await exported();
    mkdirSync(join(top, 'export/d'));
    const job = { ...packJob(directory), attributes, files: [], packed: true, destination: join(top, 'export/d') };
    expect(await refusal(during((task) => exportImage(job, task)))).toContain('is not a file');
    const bare = smallImage();
    const other = { ...job, directory: bare, destination: join(top, 'export/e') };
    expect(await refusal(during((task) => exportImage(other, task)))).toContain('is not packed');
  });
});

interface Raw {
  readonly name: string;
  readonly text?: string;
  readonly type?: string;
  readonly link?: string;
}

/** An archive that no honest program writes. */
function rawTar(members: readonly Raw[]): Buffer {
  const pieces = members.flatMap(({ name, text = '', type = '0', link = '' }) => {
    const head = tarHeader({ name, size: text.length, mode: 0o644, time: 0 });
    head.write(type, 156, 'latin1');
    head.write(link, 157);
    head.write(' '.repeat(8), 148, 'latin1');
    let sum = 0;
    for (const byte of head) sum += byte;
    head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    return [head, Buffer.from(text), tarPadding(text.length)];
  });
  return gzipSync(Buffer.concat([...pieces, tarEnd()]));
}

const xml = (values: Record<string, string>, before = ''): string =>
  `<?xml version="1.0"?>\n${before}<xcatimage>\n${Object.entries(values)
    .map(([key, value]) => `  <${key}>${value}</${key}>\n`)
    .join('')}</xcatimage>\n`;

const reference = {
  imagename: 'old',
  imagetype: 'linux',
  osvers: 'rhels8.6',
  osarch: 'x86_64',
  profile: 'compute',
  provmethod: 'netboot',
};

describe('a bundle of the reference system', () => {
  it('is read: files beside manifest.xml by the names that stand in it', async () => {
    const manifest = xml({
      ...reference,
      exlist: '/opt/xcat/share/a&amp;b.exlist',
      rootimgdir: '/install/x',
      rootimg: '/install/x/rootimg.cpio.gz',
      secret: 'x',
    });
    const file = join(temporary(), 'old.tgz');
    writeFileSync(
      file,
      rawTar([
        { name: './', type: '5' },
        { name: './manifest.xml', text: manifest },
        { name: './a&b.exlist', text: './doc*\n' },
        { name: './rootimg.cpio.gz', text: 'root' },
        { name: './kernel', text: 'kernel' },
        { name: './initrd-stateless.gz', text: 'initrd' },
      ]),
    );
    const there = temporary();
    const made = await during((task) => importImage(importJob(file, there), task));
    expect(made.image).toBe('old');
    expect(made.attributes).toMatchObject({
      osvers: 'rhels8.6',
      rootimgdir: join(there, 'netboot/rhels8.6/x86_64/compute'),
    });
    expect(made.attributes).not.toHaveProperty('secret');
    expect(readFileSync(made.attributes['exlist']!, 'utf8')).toBe('./doc*\n');
    expect(dirname(made.attributes['exlist']!)).toBe(join(there, 'custom/imported/old'));
    expect(readFileSync(join(there, 'netboot/rhels8.6/x86_64/compute/rootimg.cpio.gz'), 'utf8')).toBe('root');
  });
});

describe('a hostile bundle is refused and leaves nothing', () => {
  const good = { name: 'manifest.xml', text: xml(reference) };
  const cases: readonly [string, () => Buffer, string][] = [
    ['a name that goes up', () => rawTar([good, { name: '../escape', text: 'x' }]), 'leads out of the archive'],
    [
      'a name that goes up further in',
      () => rawTar([good, { name: 'a/../../escape', text: 'x' }]),
      'leads out of the archive',
    ],
    ['an absolute name', () => rawTar([good, { name: '/tmp/muster-escape', text: 'x' }]), 'leads out of the archive'],
    ['a symbolic link', () => rawTar([good, { name: 'kernel', type: '2', link: '/etc/shadow' }]), 'link or a device'],
    ['a hard link', () => rawTar([good, { name: 'kernel', type: '1', link: '/etc/shadow' }]), 'link or a device'],
    ['a device', () => rawTar([good, { name: 'kernel', type: '3' }]), 'link or a device'],
    ['a pipe', () => rawTar([good, { name: 'kernel', type: '6' }]), 'link or a device'],
    ['a name twice', () => rawTar([good, { name: 'kernel', text: 'a' }, { name: './kernel', text: 'b' }]), 'twice'],
    ['no manifest', () => rawTar([{ name: 'kernel', text: 'a' }]), 'is no bundle'],
    [
      'entities of its own',
      () => rawTar([{ name: 'manifest.xml', text: xml(reference, '<!DOCTYPE x [<!ENTITY a "b">]>') }]),
      'not plain XML',
    ],
    [
      'an unknown entity',
      () => rawTar([{ name: 'manifest.xml', text: xml({ ...reference, profile: '&a;' }) }]),
      'has the unknown entity',
    ],
    ['deep nesting', () => rawTar([{ name: 'manifest.xml', text: '<a>'.repeat(1000) }]), 'nested too deep'],
    [
      'a profile that is a path',
      () =>
        rawTar([
          { name: 'manifest.xml', text: xml({ ...reference, profile: '../../x' }) },
          { name: 'kernel', text: 'k' },
        ]),
      'cannot be used',
    ],
    [
      'an image without a profile',
      () => rawTar([{ name: 'manifest.xml', text: xml({ ...reference, profile: '' }) }]),
      'profile',
    ],
    ['noise', () => gzipSync(Buffer.alloc(4096, 7)), 'not a tar archive'],
    ['no gzip', () => Buffer.from('hello'), 'not compressed by gzip'],
    ['nothing', () => Buffer.alloc(0), 'cut off'],
    ['a cut archive', () => gzipSync(tarHeader({ name: 'kernel', size: 10_000_000, mode: 0o644, time: 0 })), 'cut off'],
    [
      'a bundle that lists what is not there',
      () => ours({ members: [{ name: 'image/kernel', sha256: '0'.repeat(64), size: 1 }] }),
      'incomplete',
    ],
    [
      'a wrong checksum',
      () =>
        ours({ members: [{ name: 'image/kernel', sha256: '0'.repeat(64), size: 1 }] }, [
          { name: 'image/kernel', text: 'k' },
        ]),
      'damaged',
    ],
    ['a file that is not listed', () => ours({ members: [] }, [{ name: 'image/kernel', text: 'k' }]), 'is not what'],
    [
      'a part that is none',
      () =>
        ours({ members: [{ name: 'image/muster-image.json', sha256: sum('k'), size: 1 }] }, [
          { name: 'image/muster-image.json', text: 'k' },
        ]),
      'is not a part',
    ],
    ['a newer format', () => ours({ format: 2 }), 'newer muster'],
    [
      'more members than any bundle has',
      () => rawTar([good, ...Array.from({ length: 10_001 }, (_, index) => ({ name: `d${index}`, type: '5' }))]),
      'more than 10000 members',
    ],
  ];
  const sum = (text: string): string => execFileSync('sha256sum', { input: text, encoding: 'utf8' }).slice(0, 64);
  const ours = (change: object, members: readonly Raw[] = []): Buffer =>
    rawTar([
      {
        name: 'muster-bundle.json',
        text: JSON.stringify({ format: 1, image: 'x', attributes, members: [], packages: [], ...change }),
      },
      ...members,
    ]);

  it.each(cases)('%s', async (_name, make, sentence) => {
    const from = temporary();
    const file = join(from, 'bad.tgz');
    writeFileSync(file, make());
    const there = temporary();
    expect(await refusal(during((task) => importImage(importJob(file, there), task)))).toContain(sentence);
    expect(readdirSync(there)).toEqual([]);
  });

  it('a file that became a link after it was judged', async () => {
    const { file } = await exported();
    renameSync(file, `${file}.real`);
    symlinkSync(`${file}.real`, file);
    const there = temporary();
    await expect(during((task) => importImage(importJob(file, there), task))).rejects.toThrow();
    expect(readdirSync(there)).toEqual([]);
  });
});
