// Writes images as the OCI specification of image layouts describes them, in one tar file that podman, skopeo and docker load.
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tarEnd, tarHeader, tarPadding } from '../../src/core/tar/write.ts';
import type { PackageFile } from './files.ts';

export interface Layer {
  readonly title: string;
  readonly packed: Buffer;
  /** Of the tar file before it was packed. */
  readonly plainDigest: string;
}

interface ImageFacts {
  readonly created: string;
  readonly architecture: string;
  readonly reference: string;
  readonly config: object;
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export const layerOf = (tar: Buffer, title: string, fast: boolean): Layer => ({
  title,
  packed: gzipSync(tar, { level: fast ? 1 : 9 }),
  plainDigest: digestOf(tar),
});

/** A tar file with files and the directories that they are in, all root's. */
export function tarOf(files: readonly PackageFile[], time: number): Buffer {
  const made = new Set<string>();
  const parts: Buffer[] = [];
  const directory = (path: string, mode: number): void => {
    if (path === '/' || made.has(path)) return;
    directory(dirname(path), 0o755);
    made.add(path);
    parts.push(tarHeader({ kind: 'directory', name: `${path.slice(1)}/`, size: 0, mode, time }));
  };
  for (const { path, content, mode = 0o644 } of files) {
    if ('directory' in content) {
      directory(path, mode);
      continue;
    }
    directory(dirname(path), 0o755);
    const name = path.slice(1);
    if ('link' in content) {
      parts.push(tarHeader({ kind: 'link', name, link: Buffer.from(content.link), size: 0, mode: 0o777, time }));
      continue;
    }
    const bytes = 'file' in content ? readFileSync(content.file) : Buffer.from(content.text);
    parts.push(tarHeader({ name, size: bytes.length, mode, time }), bytes, tarPadding(bytes.length));
  }
  return Buffer.concat([...parts, tarEnd()]);
}

const types = {
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  config: 'application/vnd.oci.image.config.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
} as const;

export function writeImage(file: string, layers: readonly Layer[], facts: ImageFacts): void {
  const { created, architecture, reference, config } = facts;
  const blobs: Buffer[] = [];
  const blob = (mediaType: string, bytes: Buffer) => {
    blobs.push(bytes);
    return { mediaType, digest: digestOf(bytes), size: bytes.length };
  };
  const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
  const manifest = json({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: blob(
      types.config,
      json({
        created,
        architecture,
        os: 'linux',
        config,
        rootfs: { type: 'layers', diff_ids: layers.map(({ plainDigest }) => plainDigest) },
        history: layers.map(({ title }) => ({ created, created_by: title })),
      }),
    ),
    layers: layers.map(({ packed }) => blob(types.layer, packed)),
  });
  const index = json({
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [
      {
        ...blob(types.manifest, manifest),
        platform: { architecture, os: 'linux' },
        annotations: { 'org.opencontainers.image.ref.name': reference },
      },
    ],
  });
  const output = openSync(file, 'w', 0o644);
  const write = (name: string, bytes: Buffer): void => {
    for (const part of [tarHeader({ name, size: bytes.length, mode: 0o644, time: 0 }), bytes, tarPadding(bytes.length)])
      writeAll(output, part);
  };
  try {
    write('oci-layout', json({ imageLayoutVersion: '1.0.0' }));
    write('index.json', index);
    for (const bytes of blobs) write(`blobs/sha256/${digestOf(bytes).slice('sha256:'.length)}`, bytes);
    writeAll(output, tarEnd());
  } finally {
    closeSync(output);
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}
