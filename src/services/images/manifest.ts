import { constants, mkdtempSync, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { syncDirectory, writeFileAtomically } from '../../core/files.ts';
import { isManifest, type Manifest } from './manifest-schema.ts';

export type { Act, InstalledPackage, Manifest, Pack, Part, Used } from './manifest-schema.ts';

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
 * Writes a manifest beside its place, in a staging on the same file system. What is returned puts it there, and fails for want of room no
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
 * is made anew the next time.
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
