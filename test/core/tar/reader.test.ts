import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type TarEntry, TarError } from '../../../src/core/tar/header.ts';
import { TarReader } from '../../../src/core/tar/reader.ts';
import { directory, file, hardLink, padded, symbolicLink, tar, type TestEntry } from '../../lab/oci/tar.ts';

interface Read {
  readonly entry: TarEntry;
  /** With holes as zeros. */
  readonly data: Buffer;
}

function readTar(bytes: Buffer, step = bytes.length || 1): Read[] {
  const found: { entry: TarEntry; data: Buffer }[] = [];
  const reader = new TarReader({
    entry: (entry) => void found.push({ entry, data: Buffer.alloc(entry.size) }),
    data: (part, at) => void part.copy(found.at(-1)!.data, at),
    end: () => {},
  });
  for (let at = 0; at < bytes.length; at += step) reader.push(bytes.subarray(at, at + step));
  reader.finish();
  return found;
}

const paths = (bytes: Buffer): string[] => readTar(bytes).map(({ entry }) => entry.path);

const sparseBlock = (pieces: readonly (readonly [number, number])[], size: number) => (header: Buffer) => {
  header.write('ustar  \0', 257, 'latin1');
  pieces.forEach(([at, length], i) => {
    header.write(`${at.toString(8).padStart(11, '0')}\0`, 386 + 24 * i, 'latin1');
    header.write(`${length.toString(8).padStart(11, '0')}\0`, 398 + 24 * i, 'latin1');
  });
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 483, 'latin1');
};

describe('a tar archive', () => {
  const entries: TestEntry[] = [
    directory('etc', { mode: 0o1777, uid: 3, gid: 4, mtime: 17 }),
    file('etc/empty', ''),
    file('etc/f', 'hello'.repeat(300)),
    symbolicLink('etc/s', '../x'),
    hardLink('etc/h', 'etc/f'),
    { name: 'dev/x', type: '4', major: 8, minor: 300 },
    { name: 'p', type: '6' },
  ];

  it('is read alike in pieces of every size', () => {
    const bytes = tar(entries);
    const whole = readTar(bytes);
    expect(whole.map(({ entry: { kind, path, link, major, minor } }) => [kind, path, link, major, minor])).toEqual([
      ['directory', 'etc/', '', 0, 0],
      ['file', 'etc/empty', '', 0, 0],
      ['file', 'etc/f', '', 0, 0],
      ['symbolic link', 'etc/s', '../x', 0, 0],
      ['hard link', 'etc/h', 'etc/f', 0, 0],
      ['block device', 'dev/x', '', 8, 300],
      ['pipe', 'p', '', 0, 0],
    ]);
    expect(whole[0]!.entry).toMatchObject({ mode: 0o1777, uid: 3, gid: 4, mtime: 17 });
    expect(whole[2]!.data.toString()).toBe('hello'.repeat(300));
    for (const step of [1, 7, 511, 512, 513, 4_096]) expect(readTar(bytes, step)).toEqual(whole);
  });

  it('is read as GNU tar writes it, in each of its formats', () => {
    const long = `${'long/'.repeat(40)}name`;
    const made = `set -e; cd "$(mktemp -d)"; mkdir -p ${long.slice(0, -5)}; echo x > ${long}; ln -s ${'t'.repeat(150)} link
      truncate -s 1M holes; printf end >> holes; printf middle | dd of=holes bs=1 seek=400000 conv=notrunc status=none
      tar --format="$1" --sparse -cf - .; rm -r "$PWD"`;
    for (const format of ['gnu', 'pax']) {
      const bytes = execFileSync('bash', ['-c', made, 'bash', format]);
      const found = new Map(readTar(bytes).map(({ entry, data }) => [entry.path, { entry, data }]));
      expect(found.get(`./${long}`)?.data.toString()).toBe('x\n');
      expect(found.get('./link')?.entry.link).toBe('t'.repeat(150));
      const holes = found.get('./holes')!;
      expect(holes.entry.pieces).toBeDefined();
      expect(holes.data.length).toBe((1 << 20) + 3);
      expect(holes.data.subarray(400_000, 400_006).toString()).toBe('middle');
      expect(holes.data.subarray(-3).toString()).toBe('end');
    }
  });

  it('says names, owners, sizes and times in extended headers', () => {
    const [read] = readTar(
      tar([
        file('x', 'abc', { size: 0, pax: { path: 'žluť', uid: '4000000000', gid: '5', size: '3', mtime: '-1.25' } }),
      ]),
    );
    expect(read!.entry).toMatchObject({ uid: 4_000_000_000, gid: 5, size: 3, mtime: -1.25 });
    expect(Buffer.from(read!.entry.path, 'latin1').toString()).toBe('žluť');
    expect(read!.data.toString()).toBe('abc');
  });

  it('has binary values of attributes', () => {
    const value = Buffer.from([0, 0x0a, 0x3d, 0xff]);
    const [read] = readTar(tar([file('x', '', { pax: { 'SCHILY.xattr.user.v': value } })]));
    expect(read!.entry.attributes).toEqual([['user.v', value]]);
  });

  it('may have global headers, which entries override', () => {
    const global = file('g', '15 path=global\n12 uid=1000\n', { type: 'g' });
    const read = readTar(tar([global, file('a'), file('b', 'x', { pax: { path: 'own' } })]));
    expect(read.map(({ entry }) => [entry.path, entry.uid])).toEqual([
      ['global', 1_000],
      ['own', 1_000],
    ]);
  });

  it('begins long names in the prefix only if it is of POSIX', () => {
    const prefix = (magic: string) => (header: Buffer) => {
      header.write(magic, 257, 'latin1');
      header.write('before', 345, 'latin1');
    };
    expect(paths(tar([file('x', '', { alter: prefix('ustar\u000000') })]))).toEqual(['before/x']);
    expect(paths(tar([file('x', '', { alter: prefix('ustar  \0') })]))).toEqual(['x']);
  });

  it('may end without a mark, and in the middle of the padding, but not of a file', () => {
    const bytes = tar([file('a', 'abc')]);
    for (const length of [1_024, 515, 600]) expect(paths(bytes.subarray(0, length))).toEqual(['a']);
    for (const length of [514, 100]) expect(() => readTar(bytes.subarray(0, length))).toThrow(TarError);
    expect(() => readTar(tar([file('a', 'x', { pax: { path: 'b' } })]).subarray(0, 1_024))).toThrow(TarError);
    expect(readTar(Buffer.alloc(0))).toEqual([]);
  });

  it.each([
    ['a wrong checksum', Buffer.from(tar([file('a')])).fill('b', 0, 1)],
    ['an unknown type', tar([{ name: 'a', type: 'Q' }])],
    ['something behind its end', Buffer.concat([Buffer.alloc(512), tar([file('a')])])],
    ['an extended header without end', tar([file('h', '99 path=x\n', { type: 'x' }), file('a')])],
    ['an extended header of no length', tar([file('h', 'path=x\n', { type: 'x' }), file('a')])],
    ['a very long extended header', tar([file('h', '', { type: 'x', size: 2 ** 30 })])],
    ['a size that cannot be counted', tar([file('a', '', { alter: (header) => void header.fill(0x80, 124, 136) })])],
    ['a negative size', tar([file('a', '', { alter: (header) => void header.fill(0xff, 124, 136) })])],
    ['an owner that is no number', tar([file('a', '', { pax: { uid: '1e3' } })])],
    ['a time that is no number', tar([file('a', '', { pax: { mtime: 'now' } })])],
    ['half a piece of a sparse file', tar([file('a', '', { pax: { 'GNU.sparse.map': '0' } })])],
    ['pieces that overlap', tar([file('a', 'ab', { pax: { 'GNU.sparse.map': '0,1,0,1', 'GNU.sparse.size': '9' } })])],
    ['pieces behind the end', tar([file('a', 'a', { pax: { 'GNU.sparse.map': '9,1', 'GNU.sparse.size': '9' } })])],
    ['more data than pieces', tar([file('a', 'ab', { pax: { 'GNU.sparse.map': '0,1', 'GNU.sparse.size': '9' } })])],
    [
      'a map that does not end',
      tar([file('a', Buffer.alloc(512, '1'), { pax: { 'GNU.sparse.major': '1', 'GNU.sparse.realsize': '9' } })]),
    ],
    [
      'a map of a billion pieces',
      tar([file('a', padded(Buffer.from('1000000000\n')), { pax: { 'GNU.sparse.major': '1' } })]),
    ],
    ['old pieces behind the end', tar([file('a', 'a', { type: 'S', alter: sparseBlock([[9, 1]], 9) })])],
  ])('is refused with %s', (_what, bytes) => {
    expect(() => readTar(bytes)).toThrow(TarError);
  });

  it('with any bytes changed is read or refused, and nothing else', () => {
    const sample = tar([...entries, file('x', 'abc', { pax: { path: 'other', 'SCHILY.xattr.user.a': 'b' } })]);
    const change = fc.tuple(fc.nat(sample.length - 1), fc.nat(255));
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 2_000 }),
        (changes, step) => {
          const bytes = Buffer.from(sample);
          for (const [at, value] of changes) bytes[at] = value;
          let told = 0;
          const reader = new TarReader({ entry: () => {}, data: (part) => void (told += part.length), end: () => {} });
          try {
            for (let at = 0; at < bytes.length; at += step) reader.push(bytes.subarray(at, at + step));
            reader.finish();
          } catch (error) {
            expect(error).toBeInstanceOf(TarError);
          }
          expect(told).toBeLessThanOrEqual(bytes.length);
        },
      ),
      { seed: 12, numRuns: 1_000 },
    );
  });

  it('with headers changed and their checksums made right is read or refused, and nothing else', () => {
    const change = fc.tuple(fc.nat(511), fc.nat(255));
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 6 }),
        fc.constantFrom('0', 'S', 'x', 'L', 'g'),
        (changes, type) => {
          const alter = (header: Buffer): void => changes.forEach(([at, value]) => void (header[at] = value));
          const bytes = tar([file('a', '12 path=abc\n', { type, alter }), file('b', 'data')]);
          let told = 0;
          const reader = new TarReader({ entry: () => {}, data: (part) => void (told += part.length), end: () => {} });
          try {
            reader.push(bytes);
            reader.finish();
          } catch (error) {
            expect(error).toBeInstanceOf(TarError);
          }
          expect(told).toBeLessThanOrEqual(bytes.length);
        },
      ),
      { seed: 12, numRuns: 1_000 },
    );
  });
});
