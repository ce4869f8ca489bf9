import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openArchive } from '../../../src/protocols/oci/archive.ts';
import type { Image } from '../../../src/protocols/oci/image.ts';
import { base } from '../../lab/oci/images.ts';
import { hostArchitecture, sha256, writeLayout } from '../../lab/oci/layout.ts';
import { file, hardLink, symbolicLink, tar, type TestEntry } from '../../lab/oci/tar.ts';

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'muster-archives-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

const { signal } = new AbortController();

async function found(path: string, name?: string, architecture = hostArchitecture): Promise<Image> {
  const archive = await openArchive(path, 'it', signal);
  try {
    return await archive.image(name, { architecture }, signal);
  } finally {
    await archive.close();
  }
}

const newLayout = (name: string): string => join(scratch, name);

/** All layouts in one, under their tags. */
function joinLayouts(path: string, others: readonly string[]): void {
  const manifests = others.flatMap((other) => {
    execFileSync('cp', ['-r', `${other}/.`, path]);
    return (JSON.parse(readFileSync(join(other, 'index.json'), 'utf8')) as { manifests: object[] }).manifests;
  });
  writeFileSync(join(path, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
}

describe('a container image in a file', () => {
  it('is found in a layout, as a directory and as an archive by tar', async () => {
    const layout = newLayout('one');
    const digest = writeLayout(layout, [base]);
    expect(await found(layout)).toMatchObject({ digest, architecture: hostArchitecture });
    execFileSync('tar', ['-C', layout, '-cf', `${layout}.tar`, '.']);
    expect(await found(`${layout}.tar`, 't')).toMatchObject({ digest });
  });

  it('is chosen by its tag among several, which are listed otherwise', async () => {
    const [a, b, both] = [newLayout('a'), newLayout('b'), newLayout('both')];
    writeLayout(a, [base], { tag: 'v1' });
    const digest = writeLayout(b, [[file('b')]], { tag: 'v2' });
    mkdirSync(both);
    joinLayouts(both, [a, b]);
    expect((await found(both, 'v2')).digest).toBe(digest);
    await expect(found(both)).rejects.toThrow(
      'it has 2 images: choose one with the parameter image. It has "v1", "v2".',
    );
    await expect(found(both, 'v3')).rejects.toThrow('it has no image "v3". It has "v1", "v2".');
  });

  it('is chosen by architecture if one name stands for several', async () => {
    const layout = newLayout('multi');
    writeLayout(layout, [base]);
    const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as {
      manifests: Record<string, unknown>[];
    };
    const other = { ...index.manifests[0], digest: sha256('no'), platform: { os: 'linux', architecture: 'mips' } };
    index.manifests.unshift(other);
    writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
    expect((await found(layout)).architecture).toBe(hostArchitecture);
    await expect(found(layout, undefined, 's390x')).rejects.toThrow(
      `it has no image for linux/s390x, only for linux/mips, linux/${hostArchitecture}.`,
    );
  });

  it('is found in what skopeo writes for docker', async () => {
    const layout = newLayout('plain');
    writeLayout(layout, [base, [file('second')]]);
    const archive = join(scratch, 'docker.tar');
    const copy = ['--insecure-policy', 'copy', '-q', `oci:${layout}:t`, `docker-archive:${archive}:lab/deb:1`];
    execFileSync('skopeo', copy, { stdio: 'ignore' });
    const image = await found(archive, 'docker.io/lab/deb:1');
    const tars = [tar(base), tar([file('second')])];
    expect(image.layers.map(({ diffId }) => diffId)).toEqual(tars.map(sha256));
    const layer: Buffer[] = [];
    const opened = await openArchive(archive, 'it', signal);
    const again = await opened.image(undefined, { architecture: hostArchitecture }, signal);
    for await (const piece of again.layers[0]!.open(signal)) layer.push(piece);
    expect(sha256(Buffer.concat(layer))).toBe(sha256(tars[0]!));
    await opened.close();
  });

  const config = (...layers: Buffer[]): Buffer =>
    Buffer.from(
      JSON.stringify({
        architecture: hostArchitecture,
        os: 'linux',
        rootfs: { type: 'layers', diff_ids: layers.map(sha256) },
      }),
    );
  const dockerTar = (name: string, entries: TestEntry[]): string => {
    writeFileSync(join(scratch, name), tar(entries));
    return join(scratch, name);
  };
  const manifest = (...images: object[]): TestEntry => file('manifest.json', JSON.stringify(images));

  it('may be one of several in a docker archive, whose layers are links and compressed', async () => {
    const layer = tar(base);
    const path = dockerTar('several.tar', [
      file('shared.tar', gzipSync(layer)),
      symbolicLink('x/layer.tar', '../shared.tar'),
      hardLink('y/layer.tar', 'shared.tar'),
      file('c.json', config(layer)),
      manifest(
        { Config: 'c.json', RepoTags: ['deb:1'], Layers: ['x/layer.tar'] },
        { Config: 'c.json', RepoTags: ['deb:2'], Layers: ['y/layer.tar'] },
        { Config: 'c.json', RepoTags: null, Layers: ['y/layer.tar'] },
      ),
    ]);
    for (const name of ['deb:1', 'deb:2']) expect((await found(path, name)).layers[0]!.compression).toBe('gzip');
    await expect(found(path)).rejects.toThrow(
      'it has 3 images: choose one with the parameter image. It has "deb:1", "deb:2".',
    );
  });

  it.each<[string, string | RegExp, TestEntry[]]>([
    ['nothing of an image', 'it holds no container image', [file('x')]],
    ['names that lead out', 'leads elsewhere', [manifest({ Config: '../c.json', Layers: [] })]],
    [
      'a link in a circle',
      'it has no file c.json',
      [symbolicLink('c.json', 'c.json'), manifest({ Config: 'c.json', Layers: [] })],
    ],
    ['no configuration', 'it has no file c.json', [manifest({ Config: 'c.json', Layers: [] })]],
    [
      'no layer',
      'it has no file l.tar',
      [file('c.json', config(tar([]))), manifest({ Config: 'c.json', Layers: ['l.tar'] })],
    ],
    [
      'another number of layers',
      '0 layers and 1 diff_ids',
      [file('c.json', config(tar([]))), manifest({ Config: 'c.json', Layers: [] })],
    ],
    ['no JSON', 'manifest.json of it is not JSON', [file('manifest.json', '{')]],
    [
      'a manifest that is none',
      'is not valid: it is missing, too long or of a form that muster does not read.',
      [file('manifest.json', '{}')],
    ],
    [
      'a configuration of a number',
      'is not valid: 0.Config is missing, too long',
      [manifest({ Config: 1, Layers: [] })],
    ],
    [
      'an index that is none',
      'is not valid',
      [file('oci-layout', '{"imageLayoutVersion":"1.0.0"}'), file('index.json', '[]')],
    ],
    [
      'a layout of another time',
      'version "2.0.0"',
      [file('oci-layout', '{"imageLayoutVersion":"2.0.0"}'), file('index.json', '{}')],
    ],
    ['a manifest of 5 MiB', 'has more than 4194304 bytes', [file('manifest.json', Buffer.alloc(5 << 20, ' '))]],
  ])('is refused with %s', async (what, problem, entries) => {
    await expect(found(dockerTar(`${what}.tar`, entries))).rejects.toThrow(problem);
  });

  it('is refused if the archive is cut off, compressed or none', async () => {
    const path = join(scratch, 'cut.tar');
    writeFileSync(path, tar([file('oci-layout', '{}'), file('x', 'y'.repeat(5_000))]));
    truncateSync(path, 3_000);
    await expect(found(path)).rejects.toThrow(
      'it is not an archive that can be read: it ends in the middle of a file.',
    );
    writeFileSync(path, gzipSync('x'));
    await expect(found(path)).rejects.toThrow('it is compressed: decompress it first.');
    writeFileSync(path, 'no archive'.repeat(100));
    await expect(found(path)).rejects.toThrow('it is not an archive');
    await expect(found(join(scratch, 'absent.tar'))).rejects.toThrow('it cannot be read');
  });

  it('is not read through links in a layout', async () => {
    const layout = newLayout('linked');
    const digest = writeLayout(layout, [base]);
    const blob = join(layout, 'blobs', digest.replace(':', '/'));
    const elsewhere = join(scratch, 'elsewhere');
    appendFileSync(elsewhere, readFileSync(blob));
    rmSync(blob);
    symlinkSync(elsewhere, blob);
    await expect(found(layout)).rejects.toThrow('cannot be read');
  });
});
