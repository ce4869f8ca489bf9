import { constants, mkdtempSync, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { syncDirectory, writeFileAtomically } from '../core/files.ts';
import { schemaCheck } from '../core/schema-check.ts';

const textMember = Type.String();

/** Who did something to an image, and when. */
const act = Type.Object({ when: textMember, by: textMember, run: textMember });
/** A file that an image was made from. */
const used = Type.Object({ path: textMember, sha256: textMember });
const part = Type.Object({ file: textMember, sha256: textMember, size: Type.Integer() });
export const installedPackage = Type.Object({ name: textMember, version: textMember, arch: textMember });

const pack = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{16}$' }),
  method: textMember,
  compress: textMember,
  /** The root, and the kernel and the initial RAM disk that belong to it; they lie in `packs/ID` under these names. */
  parts: Type.Array(part),
  packages: Type.Integer(),
  lists: Type.Array(used),
  made: act,
  /** Says whether it would be packed otherwise now; see pack-inputs.ts. */
  inputs: Type.Optional(textMember),
  /** Names that people gave it: such a pack is kept. */
  tags: Type.Optional(Type.Array(textMember)),
});

const source = Type.Object({
  /** `found`: the tree was there before muster, which never removes it. */
  kind: Type.Enum(['packages', 'container', 'bundle', 'capture', 'found']),
  lists: Type.Array(used),
  /** Says whether anything has changed since; see fingerprint.ts. */
  fingerprint: Type.Optional(textMember),
  /** What the tree was built from, for the next build. */
  recipe: Type.Optional(Type.Unknown()),
  reference: Type.Optional(textMember),
  /** Of a container: its own and those of its layers. */
  digest: Type.Optional(textMember),
  layers: Type.Optional(Type.Array(textMember)),
  /** The image whose kernel a container got. */
  kernelFrom: Type.Optional(textMember),
});

const manifestShape = Type.Object({
  image: textMember,
  osvers: textMember,
  osarch: textMember,
  profile: textMember,
  made: act,
  source,
  packages: Type.Array(installedPackage),
  runs: Type.Array(Type.Object({ command: Type.Array(textMember), made: act })),
  /** Files beside the manifest that muster made, such as `kernel`. */
  files: Type.Array(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' })),
  packs: Type.Array(pack),
  kernel: Type.Optional(textMember),
  /** The pack in use. */
  current: Type.Optional(textMember),
});

const isManifest = schemaCheck(manifestShape).is;

export type Act = Static<typeof act>;
export type Used = Static<typeof used>;
export type Part = Static<typeof part>;
export type Pack = Static<typeof pack>;
export type InstalledPackage = Static<typeof installedPackage>;
export type Manifest = Static<typeof manifestShape>;

/** Its place says that muster made what lies beside it. */
export const manifestFile = 'muster-image.json';
export const treeName = 'rootimg';
/**
 * Where trees lie. They have programs with set-user-ID rights and devices, so only root may enter it; a tree's own mode is that of the
 * root on nodes. Under the usual name there is a link.
 */
export const privateName = '.private';
export const packsName = 'packs';
const longest = 64 * 1024 * 1024;

/** The manifest in an image's directory; undefined if there is none. */
export async function readManifest(directory: string): Promise<Manifest | undefined> {
  const path = join(directory, manifestFile);
  const text = await readPlain(path);
  if (text === undefined) return undefined;
  const value = parsed(text);
  if (!isManifest(value))
    throw new Fault('invalid', `${path} is not a manifest of muster. Put it back from a backup, or move it away.`);
  return value;
}

/** The image's own manifest; another image's directory is not touched. */
export async function readManifestOf(image: string, directory: string): Promise<Manifest | undefined> {
  const manifest = await readManifest(directory);
  if (manifest && manifest.image !== image)
    throw new Fault(
      'invalid',
      `${directory} belongs to the image ${manifest.image}. Give ${image} another rootimgdir or profile.`,
    );
  return manifest;
}

export const writeManifest = (directory: string, manifest: Manifest): void =>
  writeFileAtomically(join(directory, manifestFile), textOf(manifest), 0o644);

const textOf = (manifest: Manifest): string => `${JSON.stringify(manifest, undefined, 1)}\n`;

/**
 * Writes a manifest beside its place, in a staging on the same file system. What is returned puts it there, and fails for want of space no
 * more: so nothing was changed if it does.
 */
export function stageManifest(staging: string, directory: string, manifest: Manifest): () => void {
  const staged = join(mkdtempSync(join(staging, 'manifest-')), manifestFile);
  writeFileAtomically(staged, textOf(manifest), 0o644);
  return () => {
    renameSync(staged, join(directory, manifestFile));
    syncDirectory(directory);
  };
}

/**
 * Replaces parts of an image, then its manifest. Meanwhile that does not say what the tree was made from: if muster is killed, the image
 * is made again the next time.
 */
export async function replaceParts(
  { staging, directory }: { readonly staging: string; readonly directory: string },
  { before, after }: { readonly before: Manifest | undefined; readonly after: Manifest },
  replace: () => void | Promise<void>,
): Promise<void> {
  const { fingerprint: _, digest: __, ...unsettled } = (before ?? after).source;
  const begin = stageManifest(staging, directory, { ...(before ?? after), source: unsettled });
  const end = stageManifest(staging, directory, after);
  begin();
  await replace();
  end();
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

async function readPlain(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
      throw new Fault('invalid', `${path} cannot be read: ${error.message}.`, { cause: error });
    },
  );
  if (!file) return undefined;
  try {
    const { size } = await file.stat();
    if (size > longest) throw new Fault('invalid', `${path} has more than ${longest} bytes, so it is no manifest.`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
