import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import {
  type BuiltMethod,
  describeDiskless,
  type Images,
  type Manifest,
  manifestFile,
  type Pack,
  packDirectory,
  type Part,
  readManifestOf,
} from '../images/index.ts';

/** What a node fetches of an image. */
export const partKinds = ['kernel', 'initrd', 'root'] as const;
export type PartKind = (typeof partKinds)[number];

export interface BootPack {
  readonly image: string;
  readonly directory: string;
  readonly pack: Pack;
}

interface Known {
  readonly looked: number;
  readonly stamp: string;
  readonly manifest: Manifest | undefined;
}

/** Milliseconds for which a manifest is not looked at again: nodes that boot together ask for the same one. */
const fresh = 1_000;

/** The packed images, as nodes boot them. */
export class BootPacks {
  readonly #images: Images;
  readonly #known = new Map<string, Promise<Known>>();
  readonly #directories = new WeakMap<Snapshot, Map<string, string>>();

  constructor(images: Images) {
    this.#images = images;
  }

  /** The pack that a node boots now. */
  async current(snapshot: Snapshot, image: string): Promise<BootPack> {
    const { directory, manifest } = await this.#manifest(snapshot, image);
    const pack = manifest?.packs.find(({ id }) => id === manifest.current);
    if (!manifest)
      throw new Fault(
        'invalid',
        `The image ${image} is not built: POST /osimages/${image}/instance {"action":"gen"} does it, and then POST /osimages/${image}/instance {"action":"pack"} packs it.`,
      );
    if (!pack)
      throw new Fault(
        'invalid',
        `The image ${image} is not packed: POST /osimages/${image}/instance {"action":"pack"} does it.`,
      );
    return { image, directory, pack };
  }

  /** One of those that are kept; a boot that began with it goes on with it. */
  async named(snapshot: Snapshot, image: string, id: string): Promise<BootPack | undefined> {
    const { directory, manifest } = await this.#manifest(snapshot, image);
    const pack = manifest?.packs.find((each) => each.id === id);
    return pack && { image, directory, pack };
  }

  async #manifest(snapshot: Snapshot, image: string): Promise<{ directory: string; manifest: Manifest | undefined }> {
    const directory = this.#directory(snapshot, image);
    const key = `${directory}\0${image}`;
    const before = this.#known.get(key);
    const known = await before;
    if (known && known.looked + fresh > Date.now()) return { directory, manifest: known.manifest };
    // Somebody else may look already.
    if (this.#known.get(key) === before) this.#known.set(key, look(image, directory, known));
    const looking = this.#known.get(key)!;
    try {
      return { directory, manifest: (await looking).manifest };
    } catch (error) {
      if (this.#known.get(key) === looking) this.#known.delete(key);
      throw error;
    }
  }

  #directory(snapshot: Snapshot, image: string): string {
    let directories = this.#directories.get(snapshot);
    if (!directories) this.#directories.set(snapshot, (directories = new Map()));
    let directory = directories.get(image);
    if (directory === undefined)
      directories.set(image, (directory = describeDiskless(snapshot, this.#images, image, '').job.directory));
    return directory;
  }
}

async function look(image: string, directory: string, before: Known | undefined): Promise<Known> {
  const stamp = await stampOf(join(directory, manifestFile));
  const manifest = before?.stamp === stamp ? before.manifest : await readManifestOf(image, directory);
  return { looked: Date.now(), stamp, manifest };
}

/** Says whether it is still the same file. */
async function stampOf(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return { ino: 0n, size: 0n, mtimeNs: 0n };
    throw error;
  });
  return `${ino} ${size} ${mtimeNs}`;
}

/** Names of initial RAM disks; that of the image's own method is taken if it is there. */
const initrds: Readonly<Record<BuiltMethod, readonly string[]>> = {
  netboot: ['initrd-stateless.gz'],
  sysclone: ['initrd-stateless.gz', 'initrd-statelite.gz'],
  statelite: ['initrd-statelite.gz', 'initrd-stateless.gz'],
};

/** The file of a pack that plays a part. */
export function partOf({ image, pack }: BootPack, kind: PartKind, method: BuiltMethod = 'netboot'): Part {
  const named = (names: readonly string[]): Part | undefined =>
    names.map((name) => pack.parts.find(({ file }) => file === name)).find((part) => part !== undefined);
  // The root is the first of them.
  const part = kind === 'root' ? pack.parts[0] : named(kind === 'kernel' ? ['kernel'] : initrds[method]);
  if (!part)
    throw new Fault(
      'invalid',
      `The pack ${pack.id} of the image ${image} has no ${kind}: build the image with a kernel, and pack it again.`,
    );
  return part;
}

export const partPath = ({ directory, pack }: BootPack, { file }: Part): string =>
  join(packDirectory(directory, pack), file);
