import { existsSync, readdirSync } from 'node:fs';
import { link, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Manifest, type Pack, packsName, writeManifest } from '../manifest.ts';

/** Names beside the manifest under which the reference system's clients look for a packed root. */
const rootNames = ['rootimg.sfs', 'rootimg.cpio.gz', 'rootimg.cpio.xz'];

export const packDirectory = (directory: string, { id }: Pick<Pack, 'id'>): string => join(directory, packsName, id);

/** Keeps a new pack, whose parts lie in `made`, and puts it to use; older ones beyond `kept` go. */
export async function keepPack(
  { directory, staging, made }: { directory: string; staging: string; made: string },
  manifest: Manifest,
  pack: Pack,
  kept: number,
): Promise<Manifest> {
  const place = packDirectory(directory, pack);
  await mkdir(join(directory, packsName), { recursive: true, mode: 0o755 });
  if (!existsSync(place) || !manifest.packs.some(({ id }) => id === pack.id)) {
    // One that no manifest knows was left by a run that was killed.
    await rm(place, { recursive: true, force: true });
    await rename(made, place);
  }
  const packs = [pack, ...manifest.packs.filter(({ id }) => id !== pack.id)].slice(0, kept);
  const after = await usePack(directory, staging, { ...manifest, packs }, pack);
  const known = new Set(packs.map(({ id }) => id));
  for (const name of readdirSync(join(directory, packsName)))
    if (!known.has(name)) await rm(join(directory, packsName, name), { recursive: true });
  return after;
}

/** The manifest says which pack is in use; its parts are also found under their usual names. */
export async function usePack(directory: string, staging: string, manifest: Manifest, pack: Pack): Promise<Manifest> {
  const from = packDirectory(directory, pack);
  const names = pack.parts.map(({ file }) => file);
  for (const name of names) {
    const temporary = join(staging, `use-${name}`);
    await rm(temporary, { force: true });
    await link(join(from, name), temporary);
    await rename(temporary, join(directory, name));
    // Renaming one name of a file onto another does nothing and leaves both.
    await rm(temporary, { force: true });
  }
  for (const name of rootNames) if (!names.includes(name)) await rm(join(directory, name), { force: true });
  const after = { ...manifest, current: pack.id };
  writeManifest(directory, after);
  return after;
}

/** Files beside the manifest that belong to it. */
export function ownFiles({ files, packs, current }: Manifest): string[] {
  const used = packs.find(({ id }) => id === current)?.parts.map(({ file }) => file) ?? [];
  return [...new Set([...files, ...used])];
}
