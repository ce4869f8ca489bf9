import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BootLab } from './boot-client.ts';

const act = { when: '2026-01-02T03:04:05.000Z', by: 'root', run: 'r1' };
const files = { root: 'rootimg.sfs', kernel: 'kernel', initrd: 'initrd-stateless.gz' } as const;

export type Parts = Readonly<Record<keyof typeof files, Buffer>>;

/** Writes a pack of an image where muster looks for it, as packing it would, and returns its id. */
export function writePack(directory: string, image: string, parts: Parts): string {
  const all = (['root', 'kernel', 'initrd'] as const).map((kind) => ({
    file: files[kind],
    size: parts[kind].length,
    sha256: createHash('sha256').update(parts[kind]).digest('hex'),
    content: parts[kind],
  }));
  const id = createHash('sha256')
    .update(all.map(({ sha256 }) => sha256).join('\n'))
    .digest('hex')
    .slice(0, 16);
  const place = join(directory, 'packs', id);
  mkdirSync(place, { recursive: true });
  for (const { file, content } of all) writeFileSync(join(place, file), content);
  const pack = {
    id,
    method: 'squashfs',
    compress: 'zstd',
    parts: all.map(({ file, size, sha256 }) => ({ file, size, sha256 })),
    packages: 0,
    lists: [],
    made: act,
  };
  const manifest = {
    image,
    osvers: 'debian12',
    osarch: 'x86_64',
    profile: 'compute',
    made: act,
    source: { kind: 'found', lists: [] },
    packages: [],
    runs: [],
    files: [],
    packs: [pack],
    current: id,
  };
  writeFileSync(join(directory, 'muster-image.json'), JSON.stringify(manifest));
  return id;
}

/** Defines a diskless image that lies in the install directory, and packs it. */
export async function definePacked(
  { server, install }: Pick<BootLab, 'server' | 'install'>,
  image: string,
  parts: Parts,
): Promise<string> {
  const directory = join(install, image);
  await server.ok('POST', `/osimages/${image}`, {
    imagetype: 'linux',
    provmethod: 'netboot',
    osvers: 'debian12',
    osarch: 'x86_64',
    profile: 'compute',
    rootimgdir: directory,
  });
  mkdirSync(directory, { recursive: true });
  return writePack(directory, image, parts);
}
