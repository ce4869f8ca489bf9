import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { scratchDirectory } from '../../harness/store.ts';
import { burn } from '../../lab/media/burn.ts';
import { blockSize, Tampered } from '../../lab/media/tamper.ts';
import { anacondaTree, debianTree, type Tree } from '../../lab/media/trees.ts';
import { copyMedium, treeOf } from './copying.ts';

const directory = scratchDirectory();
afterAll(() => rmSync(directory, { recursive: true }));
const installdir = join(directory, 'install');
mkdirSync(installdir);

const rocky = anacondaTree('Rocky Linux', '9.6');
const medium = (tree: Tree = rocky): string => burn(directory, 'medium', tree);
/** A medium with short names only, where nothing but the records says what is where. */
const plain = (tree: Tree): Tampered => new Tampered(burn(directory, 'plain', tree, { names: 'plain' }));
const written = (content: Buffer): string => {
  const file = join(directory, 'written.iso');
  writeFileSync(file, content);
  return file;
};

/** A directory with so many files, as it stands on a medium. */
function manyRecords(count: number): Buffer {
  const perBlock = Math.floor(blockSize / 42);
  const bytes = Buffer.alloc(Math.ceil(count / perBlock) * blockSize);
  for (let number = 0; number < count; number++) {
    const at = Math.floor(number / perBlock) * blockSize + (number % perBlock) * 42;
    bytes[at] = 42;
    bytes[at + 32] = 9;
    bytes.write(String(number).padStart(9, '0'), at + 33, 'latin1');
  }
  return bytes;
}

const hostile: readonly (readonly [what: string, make: () => string, reason: string])[] = [
  ['an empty file', () => written(Buffer.alloc(0)), 'not an ISO 9660 image'],
  ['noise', () => written(Buffer.alloc(300_000, 'noise')), 'not an ISO 9660 image'],
  [
    'a truncated medium',
    () => {
      const iso = medium();
      truncateSync(iso, 150_000);
      return iso;
    },
    'truncated or damaged',
  ],
  [
    'a name that leads up',
    () => new Tampered(medium({ ...rocky, zz_escape: 'x' })).replace('zz_escape', '../escape').save(),
    'a file with the name "../escape"',
  ],
  [
    'a name that is absolute',
    () => new Tampered(medium({ ...rocky, zz_escape: 'x' })).replace('zz_escape', '/etc/cron').save(),
    'a file with the name',
  ],
  [
    'a name with a NUL',
    () => new Tampered(medium({ ...rocky, zz_escape: 'x' })).replace('zz_escape', 'zz_\0scape').save(),
    'a file with the name',
  ],
  ['a name with a control character', () => medium({ ...rocky, 'dir/a\nb\u001b[31m': 'x' }), 'a file with the name'],
  [
    'a name that is not UTF-8',
    () => new Tampered(medium({ ...rocky, zz_escape: 'x' })).replace('zz_escape', 'zz_\xffscape').save(),
    'not UTF-8',
  ],
  [
    'the same name twice',
    () => new Tampered(medium({ ...rocky, zz_one: 'x', zz_two: 'y' })).replace('zz_two', 'zz_one').save(),
    '"zz_one" twice',
  ],
  ['a link to an absolute path', () => medium({ ...rocky, out: { link: '/etc/shadow' } }), 'leads to "/etc/shadow"'],
  [
    'a link out of the tree',
    () => medium({ ...rocky, 'a/out': { link: '../../etc/shadow' } }),
    'leads to "../../etc/shadow"',
  ],
  [
    'a link that another link turns outwards',
    () => medium({ ...rocky, 'a/b/in': { link: '../..' }, 'a/b/out': { link: 'in/../../etc' } }),
    'leads to "in/../../etc"',
  ],
  [
    'a link in place of the file that says what it is',
    () => medium({ '.disk/info': { link: '/etc/passwd' } }),
    'leads to "/etc/passwd"',
  ],
  ['a device', () => medium({ ...rocky, sda: { device: true } }), '"sda" is a device'],
  [
    'a pipe',
    () => burn(directory, 'medium', rocky, { before: (tree) => void execFileSync('mkfifo', [join(tree, 'pipe')]) }),
    '"pipe" is a device, a pipe',
  ],
  [
    'a huge file that says what it is',
    () => medium({ ...rocky, '.treeinfo': Buffer.alloc(20_000_000, '[') }),
    'at most 262144 are read',
  ],
  [
    'a version that is a path',
    () => medium({ '.disk/info': 'Debian GNU/Linux ../../../x "; rm -rf / #" - Official amd64 NETINST\n' }),
    'not a known install medium',
  ],
  [
    'a file with the name that marks trees',
    () => medium({ ...rocky, '.muster-medium.json': '{}' }),
    "a name that is muster's own",
  ],
  [
    "a disc's mark that muster did not make",
    () => medium({ ...rocky, '2/.muster-medium.json': '{}' }),
    'it has a file "2/.muster-medium.json"',
  ],
  [
    "an image's manifest",
    () => medium({ ...rocky, 'image/muster-image.json': '{}' }),
    'it has a file "image/muster-image.json"',
  ],
  [
    'a file with another checksum than the medium says',
    () => new Tampered(medium(debianTree())).replace('a package of NETINST', 'a package of HACKERS').save(),
    'the checksum of "pool/main/b/bc/bc_NETINST_amd64.deb" does not match what the medium itself says',
  ],
  [
    'a directory that contains itself',
    () => {
      const tampered = plain({ 'dir/file': 'x' });
      return tampered.setExtent(tampered.record('DIR'), { block: tampered.blockOf(tampered.root) }).save();
    },
    'is inside itself or shares its place',
  ],
  [
    'a directory with the place of another',
    () => {
      const tampered = plain({ 'one/file': 'x', 'two/file': 'y' });
      return tampered.setExtent(tampered.record('TWO'), { block: tampered.blockOf(tampered.record('ONE')) }).save();
    },
    'is inside itself or shares its place',
  ],
  [
    'a directory behind the end',
    () => {
      const tampered = plain({ 'dir/file': 'x' });
      return tampered.setExtent(tampered.record('DIR'), { block: 0xffff_ffff }).save();
    },
    'the directory "/dir" would lie behind its end',
  ],
  [
    'a directory of four gigabytes',
    () => {
      const tampered = plain({ 'dir/file': 'x' });
      const iso = tampered.setExtent(tampered.record('DIR'), { size: 0xffff_f000 }).save();
      truncateSync(iso, 8 * 2 ** 30);
      return iso;
    },
    'its directories are larger than',
  ],
  [
    'more files than any medium has',
    () => {
      const tampered = plain({ 'dir/file': 'x' });
      const records = manyRecords(250_001);
      const block = tampered.append(records);
      return tampered.setExtent(tampered.record('DIR'), { block, size: records.length }).save();
    },
    'it has more than 250000 files',
  ],
  [
    'a file larger than the medium',
    () => {
      const tampered = plain({ 'file.txt': 'x' });
      return tampered.setExtent(tampered.record('FILE.TXT;1'), { size: 0xffff_ffff }).save();
    },
    '"file.txt" would lie behind its end',
  ],
  [
    'small files that claim the whole medium each',
    () => {
      const tampered = plain({ 'one.txt': 'x', 'two.txt': Buffer.alloc(200_000) });
      const size = tampered.bytes.length - 100 * blockSize;
      return tampered
        .setExtent(tampered.record('ONE.TXT;1'), { block: 20, size })
        .setExtent(tampered.record('TWO.TXT;1'), { block: 21, size })
        .save();
    },
    'its files add up to more than it holds',
  ],
  [
    'a record that is cut off',
    () => {
      const tampered = plain({ 'file.txt': 'x' });
      tampered.bytes[tampered.record('FILE.TXT;1') + 32] = 200;
      return tampered.save();
    },
    'a name that is longer than its record',
  ],
  [
    'descriptions of a file without end',
    () => {
      const long = 'z'.repeat(40);
      const tampered = new Tampered(medium({ ...rocky, [long]: 'x' }));
      // The area of a file that goes on in itself.
      const area = Buffer.alloc(28);
      area.write('CE', 0, 'latin1');
      area[2] = 28;
      area[3] = 1;
      const block = tampered.append(area);
      area.writeUInt32LE(block, 4);
      area.writeUInt32LE(28, 20);
      area.copy(tampered.bytes, block * blockSize);
      const name = tampered.bytes.indexOf(long, 0, 'latin1') - 5;
      area.copy(tampered.bytes, name);
      return tampered.save();
    },
    'is without end',
  ],
];

test.each(hostile)('%s is refused and nothing is left', async (_, make, reason) => {
  await expect(copyMedium(make(), installdir)).rejects.toThrow(reason);
  expect(treeOf(installdir)).toEqual({});
});

test('paths in the files of a medium lead nowhere, and no bit that gives rights is kept', async () => {
  const treeinfo = (rocky['.treeinfo'] as string).replaceAll('images/pxeboot/vmlinuz', '../../../../etc/shadow');
  const iso = burn(
    directory,
    'medium',
    { ...rocky, '.treeinfo': treeinfo, suid: 'x' },
    {
      before: (tree) => void execFileSync('chmod', ['6755', join(tree, 'suid')]),
    },
  );
  await copyMedium(iso, installdir);
  expect(treeOf(join(installdir, 'rocky9.6/x86_64'))).toMatchObject({ suid: '755 x', 'images/': '755' });
  rmSync(join(installdir, 'rocky9.6'), { recursive: true });
});

test('files in several pieces and files that are one are read as they are', async () => {
  const tampered = plain({ 'one.txt': 'first ', 'two.txt': 'second', 'all.txt': 'shared', 'any.txt': 'hidden' });
  const [one, two] = [tampered.record('ONE.TXT;1'), tampered.record('TWO.TXT;1')];
  tampered.bytes[one + 25]! |= 0x80;
  tampered.bytes.write('ONE.TXT;1', two + 33, 'latin1');
  tampered.setExtent(tampered.record('ANY.TXT;1'), { block: tampered.blockOf(tampered.record('ALL.TXT;1')) });
  await copyMedium(tampered.save(), installdir, { name: 'rocky9.6', arch: 'x86_64' });
  expect(treeOf(join(installdir, 'rocky9.6/x86_64'))).toMatchObject({
    'one.txt': '644 first second',
    'all.txt': '644 shared',
    'any.txt': '644 shared',
  });
  rmSync(join(installdir, 'rocky9.6'), { recursive: true });
});

test('names that share a place cannot have different checksums', async () => {
  const sums = ['a', 'b'].map((name, index) => `${String(index).repeat(32)}  ${name}.txt\n`).join('');
  const tampered = plain({ 'a.txt': 'same', 'b.txt': 'same', 'md5sum.txt': sums });
  tampered.setExtent(tampered.record('B.TXT;1'), { block: tampered.blockOf(tampered.record('A.TXT;1')) });
  const copy = copyMedium(tampered.save(), installdir, { name: 'rocky9.6', arch: 'x86_64' });
  await expect(copy).rejects.toThrow('the checksum of "b.txt" does not match');
  expect(treeOf(installdir)).toEqual({});
});

test('what bsdtar reads from a medium is what is copied', async () => {
  const deep = 'a/b/c/d/e/f/g/h/i/j/k/l/file';
  const long = `${'x'.repeat(120)}/${'y'.repeat(200)}.rpm`;
  const big = Buffer.alloc(3_000_001, 'big');
  const iso = burn(directory, 'medium', {
    ...rocky,
    [deep]: 'deep',
    [long]: 'long',
    'big.img': big,
    ümläut: 'x',
    'a/link': { link: '../images/install.img' },
  });
  const reference = join(directory, 'bsdtar');
  mkdirSync(reference);
  execFileSync('bsdtar', ['-x', '-C', reference, '-f', iso]);
  await copyMedium(iso, installdir);
  const copied = treeOf(join(installdir, 'rocky9.6/x86_64'));
  delete copied['.muster-medium.json'];
  expect(Object.keys(copied)).toEqual(Object.keys(treeOf(reference)));
  execFileSync('diff', [
    '-r',
    '--no-dereference',
    '-x',
    '.muster-medium.json',
    reference,
    join(installdir, 'rocky9.6/x86_64'),
  ]);
  rmSync(join(installdir, 'rocky9.6'), { recursive: true });
});
