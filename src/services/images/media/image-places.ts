import { Fault } from '../../../core/errors.ts';
import { isBelow } from '../real-paths.ts';

/** A file or directory that an image names, as plain data for the process that copies a medium. */
export interface ImagePlace {
  readonly image: string;
  readonly attribute: string;
  readonly named: string;
  /** Where that leads. */
  readonly real: string;
  /** Whatever lies in it belongs to the image too. */
  readonly isDirectory: boolean;
}

/** What an image names decides what runs on nodes; a medium must not bring it. */
export function checkImagePlaces(tree: string, places: readonly ImagePlace[]): void {
  const taken = places.find(({ real, isDirectory }) => isBelow(real, tree) || (isDirectory && isBelow(tree, real)));
  if (!taken) return;
  const { image, attribute, named } = taken;
  throw new Fault(
    'invalid',
    `The path of the tree ${tree} is where the image ${image} has its ${attribute}, ${named}; give another path with -p, or move what the image names.`,
  );
}
