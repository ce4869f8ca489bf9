import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { type TestEntry, tar } from './tar.ts';

export const sha256 = (bytes: string | Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export const hostArchitecture = process.arch === 'x64' ? 'amd64' : process.arch;

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  urls?: string[];
}

/** An image while it is made; a test may change it at each step. */
export interface Making {
  readonly blobs: Map<string, Buffer>;
  readonly config: { architecture: string; os: string; rootfs: { type: string; diff_ids: string[] } };
  readonly manifest: { schemaVersion: number; mediaType: string; config: Descriptor | null; layers: Descriptor[] };
}

export interface Spoiling {
  readonly config?: (making: Making) => void;
  readonly manifest?: (making: Making) => void;
  readonly blobs?: (making: Making) => void;
  readonly compression?: keyof typeof compressions;
  readonly tag?: string;
}

const compressions = {
  gzip: { ending: '+gzip', pack: (bytes: Buffer) => gzipSync(bytes) },
  zstd: { ending: '+zstd', pack: (bytes: Buffer) => zstdCompressSync(bytes) },
  none: { ending: '', pack: (bytes: Buffer) => bytes },
  /** Members of a gzip stream one after the other, as parallel compressors write them. */
  members: {
    ending: '+gzip',
    pack: (bytes: Buffer) => Buffer.concat([gzipSync(bytes.subarray(0, 700)), gzipSync(bytes.subarray(700))]),
  },
} as const;

/** Writes an OCI layout with one image, tag "t" if nothing else is said; gives the digest of its manifest. */
export function writeLayout(
  path: string,
  layers: readonly (readonly TestEntry[] | Buffer)[],
  spoiling: Spoiling = {},
): string {
  const blobs = new Map<string, Buffer>();
  const put = (bytes: Buffer, mediaType: string): Descriptor => {
    const digest = sha256(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const { ending, pack } = compressions[spoiling.compression ?? 'gzip'];
  const tars = layers.map((layer) => (Buffer.isBuffer(layer) ? layer : tar(layer as TestEntry[])));
  const making: Making = {
    blobs,
    config: { architecture: hostArchitecture, os: 'linux', rootfs: { type: 'layers', diff_ids: tars.map(sha256) } },
    manifest: {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: null,
      layers: tars.map((each) => put(pack(each), `application/vnd.oci.image.layer.v1.tar${ending}`)),
    },
  };
  spoiling.config?.(making);
  making.manifest.config = put(Buffer.from(JSON.stringify(making.config)), 'application/vnd.oci.image.config.v1+json');
  spoiling.manifest?.(making);
  const top = put(Buffer.from(JSON.stringify(making.manifest)), making.manifest.mediaType);
  spoiling.blobs?.(making);
  mkdirSync(join(path, 'blobs/sha256'), { recursive: true });
  for (const [digest, bytes] of blobs) writeFileSync(join(path, 'blobs', digest.replace(':', '/')), bytes);
  writeFileSync(join(path, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const platform = { architecture: hostArchitecture, os: 'linux' };
  const annotations = { 'org.opencontainers.image.ref.name': spoiling.tag ?? 't' };
  writeFileSync(
    join(path, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...top, platform, annotations }] }),
  );
  return top.digest;
}
