import type { EffectiveReader } from '../objects/effective.ts';
import { installDirectory, listFiles, type NodeImage } from '../objects/node-image.ts';
import { listFileFor, type Method } from './media/images-made.ts';

/**
 * The lists of packages that an image names, else the administrator's for its profile, else the one that comes with muster. An image to
 * install gets that of compute nodes if its profile has none: without its SSH server nobody could log in to the node.
 */
export function packageLists(reader: EffectiveReader, image: NodeImage, method: Method): readonly string[] {
  const own = listFiles(reader, image, 'pkglist', 'pkglist');
  if (own.length > 0) return own;
  const profiles = method === 'install' ? [image.profile, 'compute'] : [image.profile];
  const found = profiles.flatMap(
    (profile) => listFileFor(installDirectory(reader), { ...image, profile }, method, 'pkglist') ?? [],
  );
  return found.slice(0, 1);
}
