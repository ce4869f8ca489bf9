import { stat } from 'node:fs/promises';
import { Fault } from '../../core/errors.ts';
import type { Bag } from './bag.ts';
import { DirectoryBag } from './directory-bag.ts';
import { dockerImage } from './docker-archive.ts';
import type { Image, Wanted } from './image.ts';
import { layoutImage } from './layout.ts';
import { TarBag } from './tar-bag.ts';

/** A container image in a file or a directory. */
export interface Archive {
  /** The image with that name or tag; without one, the only one there is. */
  image(name: string | undefined, wanted: Wanted, signal: AbortSignal): Promise<Image>;
  close(): Promise<void>;
}

/** `path` was resolved: an OCI layout as a directory or a tar archive, or what docker save writes. */
export async function openArchive(path: string, shown: string, signal: AbortSignal): Promise<Archive> {
  const bag = (await isDirectory(path, shown)) ? new DirectoryBag(path, shown) : await TarBag.open(path, shown, signal);
  return {
    image: async (name, wanted, aborted) => {
      if ((await bag.sizeOf('oci-layout')) !== undefined) return layoutImage(bag, name, wanted);
      if ((await bag.sizeOf('manifest.json')) !== undefined) return dockerImage(bag, name, wanted, aborted);
      throw noImage(bag);
    },
    close: () => bag.close(),
  };
}

const noImage = ({ where }: Bag): Fault =>
  new Fault(
    'invalid',
    `${where} holds no container image: neither oci-layout, as OCI layouts have it, nor manifest.json, as docker save writes it, is there.`,
  );

async function isDirectory(path: string, shown: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw new Fault('invalid', `${shown} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}
