import { join } from 'node:path';
import { type Spoiling, sha256, writeLayout } from './layout.ts';
import { directory, file, hardLink, padded, symbolicLink, tar, type TestEntry } from './tar.ts';

/** What a careful reader does with an image. */
export type Expected = 'applied' | 'refused';

export interface LabImage {
  readonly name: string;
  readonly expected: Expected;
  readonly layers: readonly (readonly TestEntry[] | Buffer)[];
  readonly spoiling?: Spoiling;
}

export const base: readonly TestEntry[] = [
  directory('etc'),
  directory('bin'),
  directory('dir'),
  file('etc/keep', 'keep\n'),
  file('etc/gone', 'gone\n'),
  file('dir/a'),
  file('dir/b'),
  file('bin/hello', '#!/bin/sh\necho hello\n', { mode: 0o755 }),
];

/** A layer that no other image has: whoever has the blob already would not notice that it was tampered with. */
const own = (name: string): TestEntry[] => [...base, file('etc/name', name)];

const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex');

const applied = (name: string, ...layers: LabImage['layers']): LabImage => ({ name, expected: 'applied', layers });
const refused = (name: string, ...layers: LabImage['layers']): LabImage => ({ name, expected: 'refused', layers });
const spoiled = (name: string, spoiling: Spoiling, expected: Expected = 'refused'): LabImage => ({
  name,
  expected,
  layers: [own(name)],
  spoiling,
});

/** GNU tar's map of a file with holes, in its newest form: the last byte of 16 GiB is stored. */
const sparse = (name: string, size: number): TestEntry =>
  file(`GNUSparseFile.0/${name}`, Buffer.concat([padded(Buffer.from(`1\n${size - 1}\n1\n`)), Buffer.from('z')]), {
    pax: {
      'GNU.sparse.major': '1',
      'GNU.sparse.minor': '0',
      'GNU.sparse.name': name,
      'GNU.sparse.realsize': String(size),
    },
  });

export const labImages: readonly LabImage[] = [
  applied('good', base),
  applied('whiteout', base, [file('etc/.wh.gone', ''), directory('dir'), file('dir/.wh..wh..opq', ''), file('dir/c')]),
  applied('whiteout-order', base, [directory('dir'), file('dir/c'), file('dir/.wh..wh..opq', '')]),
  applied('whiteout-own', base, [file('dir/c'), file('.wh.dir', '')]),
  applied('whiteout-same-name', base, [file('etc/gone', 'new\n'), file('etc/.wh.gone', '')]),
  applied(
    'whiteout-nested',
    [...base, directory('dir/sub'), file('dir/sub/low')],
    [directory('dir/sub'), file('dir/sub/high'), file('dir/.wh..wh..opq', '')],
  ),
  applied('whiteout-of-nothing', base, [file('etc/.wh.never', ''), file('.wh..wh.aufs', '')]),
  applied('replace', base, [directory('etc/keep'), file('etc/keep/in'), file('dir', 'now a file\n')]),
  applied('replace-link', [...base, symbolicLink('out', '/tmp')], [directory('out'), file('out/in')]),
  applied('hardlink', [directory('bin'), file('bin/hello', 'x', { mode: 0o4755 }), hardLink('bin/h1', 'bin/hello')]),
  applied('hardlink-lower', base, [hardLink('bin/h2', 'bin/hello')]),
  applied('hardlink-then-new', base, [hardLink('bin/h2', 'bin/hello')], [file('bin/hello', 'other\n')]),
  applied('xattr', [
    directory('bin'),
    file('bin/ping', 'x', {
      mode: 0o755,
      uid: 7,
      pax: { 'SCHILY.xattr.user.t': 'v', 'SCHILY.xattr.security.capability': capability },
    }),
  ]),
  applied('longname', [
    file('x', '1', { pax: { path: `${'d'.repeat(99)}/${'e'.repeat(99)}/${'f'.repeat(99)}` } }),
    file('y', '1', { pax: { path: 'etc/žlutý' } }),
    { name: '././@LongLink', type: 'L', data: `gnu/${'g'.repeat(150)}\0` },
    file('gnu/gggg', '2'),
  ]),
  applied('bytes-in-name', [file('x', '1', { pax: { path: Buffer.from([0x61, 0xff, 0xfe]) } })]),
  applied('nodir', [file('a/b/c/file')]),
  applied('dotslash', [directory('.', { mode: 0o711 }), directory('./etc'), file('./etc/x')]),
  applied('trav-abs', [file('/tmp/escape-abs')]),
  applied('sym-chmod', [symbolicLink('out', '/tmp'), { name: 'out', type: '5', mode: 0o777 }]),
  applied('dev-nodes', [
    directory('dev'),
    { name: 'dev/sda', type: '4', major: 8, minor: 300, mode: 0o660, gid: 6 },
    { name: 'dev/null', type: '3', major: 1, minor: 3, mode: 0o666 },
    { name: 'pipe', type: '6' },
  ]),
  applied('setuid-owner', [file('x', 'x', { mode: 0o6755, pax: { uid: '4000000000', gid: '4000000000' } })]),
  applied('read-only-directory', [directory('locked', { mode: 0o555, mtime: 1_000_000_000 }), file('locked/in')]),
  applied('sparse', [sparse('big', 1 << 20)]),
  applied('times', [file('old', 'x', { mtime: 0 }), file('fraction', 'x', { pax: { mtime: '1234567890.5' } })]),
  { name: 'zstd', expected: 'applied', layers: [base], spoiling: { compression: 'zstd' } },
  { name: 'uncompressed', expected: 'applied', layers: [base], spoiling: { compression: 'none' } },
  { name: 'gzip-members', expected: 'applied', layers: [base], spoiling: { compression: 'members' } },
  refused('trav-dotdot', [file('../../escape')]),
  refused('trav-mid', [directory('etc'), file('etc/../../escape')]),
  refused('sym-abs', [symbolicLink('out', '/tmp'), file('out/escape')]),
  refused('sym-rel', [symbolicLink('out', '../../..'), file('out/escape')]),
  refused('sym-parent-dir', [symbolicLink('out', '/tmp'), directory('out/escdir')]),
  refused('sym-two-layers', [symbolicLink('out', '/tmp')], [file('out/escape')]),
  refused('sym-whiteout', [symbolicLink('out', '/tmp')], [file('out/.wh.escape', '')]),
  refused('hard-out', [hardLink('shadow', '../../../../../etc/passwd'), file('shadow', 'owned\n')]),
  refused('hard-abs', [hardLink('shadow', '/etc/hostname')]),
  refused('hard-via-sym', [symbolicLink('out', '/etc'), hardLink('shadow', 'out/hostname')]),
  refused('hard-to-directory', [directory('d'), hardLink('e', 'd')]),
  refused('hard-hidden', base, [file('bin/.wh.hello', ''), hardLink('bin/h', 'bin/hello')]),
  refused('wh-dotdot', [directory('a'), file('a/.wh...', '')]),
  refused('wh-dotdot-top', [file('.wh...', '')]),
  refused('wh-dot', [directory('a'), file('a/.wh..', '')]),
  refused('wh-slash', [file('../.wh.etc', '')]),
  refused('wh-parent', [file('.wh.a/b', '')]),
  refused('owner-minus-one', [file('x', 'x', { pax: { uid: '4294967295' } })]),
  refused('zero-in-name', [file('x', 'x', { pax: { path: 'a\0b' } })]),
  refused('root-is-file', [file('./', 'x')]),
  refused('sparse-16g', [sparse('big', 16 * 2 ** 30)]),
  refused('bomb-256m', [file('zeros', Buffer.alloc(256 << 20))]),
  refused('size-lie', [file('lie', 'short', { size: 16 * 2 ** 20 })]),
  refused('unknown-type', [{ name: 'what', type: 'Z' }]),
  refused('not-a-tar', Buffer.from('this is no archive '.repeat(100))),
  refused('cut-tar', tar(base).subarray(0, 1_300)),
  {
    name: 'other-arch',
    expected: 'refused',
    layers: [base],
    spoiling: { config: ({ config }) => void (config.architecture = 's390x') },
  },
  spoiled('truncated', {
    manifest({ blobs, manifest: { layers } }) {
      const layer = layers[0]!;
      const bytes = blobs.get(layer.digest)!.subarray(0, -20);
      blobs.delete(layer.digest);
      layer.digest = sha256(bytes);
      layer.size = bytes.length;
      blobs.set(layer.digest, bytes);
    },
  }),
  spoiled('truncated-zstd', {
    compression: 'zstd',
    manifest({ blobs, manifest: { layers } }) {
      const layer = layers[0]!;
      const bytes = blobs.get(layer.digest)!.subarray(0, -20);
      layer.digest = sha256(bytes);
      layer.size = bytes.length;
      blobs.set(layer.digest, bytes);
    },
  }),
  spoiled('bad-digest', {
    blobs({ blobs, manifest: { layers } }) {
      const bytes = Buffer.from(blobs.get(layers[0]!.digest)!);
      bytes[9]! ^= 1;
      blobs.set(layers[0]!.digest, bytes);
    },
  }),
  spoiled('bad-size', { manifest: ({ manifest: { layers } }) => void (layers[0]!.size += 7) }),
  spoiled('bad-size-less', { manifest: ({ manifest: { layers } }) => void (layers[0]!.size -= 7) }),
  spoiled('bad-diffid', { config: ({ config }) => void (config.rootfs.diff_ids[0] = sha256('no')) }),
  spoiled('missing-diffid', { config: ({ config }) => void config.rootfs.diff_ids.pop() }),
  spoiled('missing-blob', { blobs: ({ blobs, manifest: { layers } }) => void blobs.delete(layers[0]!.digest) }),
  spoiled('bad-config-digest', {
    blobs: ({ blobs, manifest: { config } }) => void blobs.set(config!.digest, Buffer.from('{"os":"linux"}')),
  }),
  spoiled('digest-path', {
    manifest: ({ manifest: { layers } }) => void (layers[0]!.digest = 'sha256:../../../../../../etc/passwd'),
  }),
  spoiled('unknown-layer-type', { manifest: ({ manifest: { layers } }) => void (layers[0]!.mediaType = 'text/plain') }),
  spoiled(
    'foreign-url',
    {
      manifest({ manifest: { layers } }) {
        layers[0]!.mediaType = 'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip';
        layers[0]!.urls = ['http://127.0.0.1:9/x'];
      },
    },
    'applied',
  ),
];

export function writeLabImage(directoryOfAll: string, { name, layers, spoiling }: LabImage): string {
  const path = join(directoryOfAll, name);
  writeLayout(path, layers, spoiling);
  return path;
}
