import { Fault } from '../../../core/errors.ts';
import type { Snapshot } from '../../../database/snapshot.ts';
import { effectiveReader } from '../../../objects/effective.ts';
import type { Images } from '../../images/images.ts';
import { imageOf, type NodeImage } from '../../update/node-image.ts';
import { answerFiles } from './answer-files.ts';
import type { Access, Asking } from './facts.ts';
import type { AnswerFile } from './installer.ts';

/** The image that a node is installed from. */
export function installedImage(snapshot: Snapshot, node: string): NodeImage {
  const image = imageOf(effectiveReader(snapshot), node);
  if (image.name === '') throw new Fault('invalid', 'The attribute provmethod of the node names no image.');
  if (image.method !== 'install')
    throw new Fault('invalid', `The image ${image.name} is not installed: its provmethod is "${image.method}".`);
  return image;
}

/** The answers for a node, with what lets people and us in. */
export async function answersFor(
  images: Images,
  snapshot: Snapshot,
  node: string,
  asking: Asking,
): Promise<AnswerFile[]> {
  const image = installedImage(snapshot, node);
  // Not all installers know the method that is best now.
  const rootPassword = await images.rootPassword(snapshot, image.name, 'sha512');
  return answersWith({ rootPassword, publicKey: images.publicKey }, images, snapshot, node, asking);
}

export const answersWith = (
  access: Access,
  { paths }: Images,
  snapshot: Snapshot,
  node: string,
  asking: Asking,
): Promise<AnswerFile[]> =>
  answerFiles({ snapshot, paths, node, image: installedImage(snapshot, node), ...asking, ...access });
