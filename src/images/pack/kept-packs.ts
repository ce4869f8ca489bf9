import { existsSync, readdirSync } from 'node:fs';
import { link, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { type Manifest, manifestFile, type Pack, packsName, stageManifest } from '../manifest.ts';

/** Names beside the manifest under which the reference system's clients look for a packed root. */
const rootNames = ['rootimg.sfs', 'rootimg.cpio.gz', 'rootimg.cpio.xz'];

/** By its id or a tag. */
export const packNamed = (packs: readonly Pack[], name: string): Pack | undefined =>
  packs.find(({ id }) => id === name) ?? packs.find(({ tags }) => tags?.includes(name));

export function missingPack(image: string, packs: readonly Pack[], wanted: string | undefined): Fault {
  const shown = ({ id, made, tags = [] }: Pack): string =>
    `${id} of ${made.when}${tags.length === 0 ? '' : ` (${tags.join(', ')})`}`;
  const known = packs.map(shown).join(', ') || 'none';
  return new Fault(
    'invalid',
    `The image ${image} has no ${wanted === undefined ? 'older pack' : `pack ${wanted}`}; kept are: ${known}.`,
  );
}

/** The newest, and all that have a tag. */
const keptOf = (packs: readonly Pack[], kept: number): Pack[] =>
  packs.filter(({ tags = [] }, index) => index < kept || tags.length > 0);

export const packDirectory = (directory: string, { id }: Pick<Pack, 'id'>): string => join(directory, packsName, id);

/** Keeps a new pack, whose parts lie in `made`, and puts it to use; older ones beyond `kept` go with the staging. */
export async function keepPack(
  { directory, staging, made }: { directory: string; staging: string; made: string },
  manifest: Manifest,
  pack: Pack,
  kept: number,
): Promise<void> {
  const place = packDirectory(directory, pack);
  const same = manifest.packs.find(({ id }) => id === pack.id);
  const packed = same?.tags ? { ...pack, tags: same.tags } : pack;
  const packs = keptOf([packed, ...manifest.packs.filter((each) => each !== same)], kept);
  const isNew = !existsSync(place) || !manifest.packs.some(({ id }) => id === pack.id);
  await usePack(directory, staging, { ...manifest, packs }, pack, {
    from: isNew ? made : place,
    async first() {
      // A tree that was there before muster gets what says so before anything else.
      if (!existsSync(join(directory, manifestFile))) stageManifest(staging, directory, manifest)();
      await mkdir(join(directory, packsName), { recursive: true, mode: 0o755 });
      if (!isNew) return;
      // One that no manifest knows was left by a run that was killed.
      await rm(place, { recursive: true, force: true });
      await rename(made, place);
    },
  });
  const known = new Set(packs.map(({ id }) => id));
  for (const name of readdirSync(join(directory, packsName)))
    if (!known.has(name)) await rename(join(directory, packsName, name), join(staging, `old-${name}`));
}

/**
 * The manifest says which pack is in use; its parts are also found under their usual names. They are linked and the manifest is written
 * before `first` and the first change of a name, so that a full disk changes nothing.
 */
export async function usePack(
  directory: string,
  staging: string,
  manifest: Manifest,
  pack: Pack,
  { from, first }: { readonly from: string; first?(): Promise<void> },
): Promise<void> {
  const names = pack.parts.map(({ file }) => file);
  const used = await mkdtemp(join(staging, 'use-'));
  for (const name of names) await link(join(from, name), join(used, name));
  const end = stageManifest(staging, directory, { ...manifest, current: pack.id });
  await first?.();
  for (const name of names) await rename(join(used, name), join(directory, name));
  for (const name of rootNames) if (!names.includes(name)) await rm(join(directory, name), { force: true });
  end();
}

/** Files beside the manifest that belong to it. */
export function ownFiles({ files, packs, current }: Manifest): string[] {
  const used = packs.find(({ id }) => id === current)?.parts.map(({ file }) => file) ?? [];
  return [...new Set([...files, ...used])];
}
