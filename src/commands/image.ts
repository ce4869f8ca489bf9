import { Type } from 'typebox';
import type { Snapshot } from '../database/snapshot.ts';
import { existingObjects } from '../objects/select.ts';
import { typeNamed } from '../objects/types.ts';
import type { Ranges, Selection } from './command.ts';

/** What commands that work on one operating system image have in common. */
export const imageArgument = { image: Type.String() } as const;
interface ImageArgs {
  readonly image: string;
}

const osimage = typeNamed('osimage');

/** One image, which must exist. */
export const selectImage = (snapshot: Snapshot, { image }: ImageArgs, { ranges }: Ranges): Selection => ({
  objects: existingObjects(snapshot, osimage, image, ranges),
  nodes: undefined,
});

/** Building, packing and removing an image keep out of each other's way. */
export const imageSubject = ({ image }: ImageArgs): string => `image ${image}`;
