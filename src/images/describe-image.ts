import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { objectExists } from '../objects/definitions.ts';
import { effectiveReader } from '../objects/effective.ts';
import { typeNamed } from '../objects/types.ts';
import { imageNamed, type NodeImage } from '../objects/node-image.ts';
import { type ImageJob, usualDirectory } from './image-job.ts';
import type { Images } from './images.ts';

const osimage = typeNamed('osimage');

/** Provmethods of images whose root is built and packed here: in memory, partly in memory, and on a disk. */
const builtMethods = ['netboot', 'statelite', 'sysclone'] as const;
export type BuiltMethod = (typeof builtMethods)[number];

export const isBuiltMethod = (method: string | undefined): method is BuiltMethod =>
  (builtMethods as readonly (string | undefined)[]).includes(method);

export interface Described {
  readonly image: NodeImage;
  readonly job: ImageJob;
}

/** An image by its name, with the place where it lies or is going to lie. */
export function describeImage(snapshot: Snapshot, images: Images, name: string, by: string): Described {
  if (!objectExists(snapshot, osimage, name))
    throw new Fault('unknown-object', `There is no operating system image ${name}.`);
  const image = imageNamed(effectiveReader(snapshot), name);
  const needed = { osvers: image.os, osarch: image.arch, profile: image.profile };
  const missing = Object.entries(needed).flatMap(([attribute, value]) => (value === '' ? attribute : []));
  if (missing.length > 0) throw new Fault('invalid', `${name}: the attribute ${missing.join(', ')} must be set first.`);
  for (const [attribute, value] of Object.entries(needed))
    if (!/^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(value))
      throw new Fault('invalid', `${name}: ${attribute} ${JSON.stringify(value)} cannot be part of a path.`);
  const usual = usualDirectory(images.paths.installDirectory(snapshot), { ...needed, method: image.method });
  const directory = images.paths.place(snapshot, image.attribute('rootimgdir') || usual, `${name}: rootimgdir`);
  return { image, job: { image: name, ...needed, directory, by } };
}

/** An image whose root is built and packed here, unlike one that an installer makes. */
export function describeDiskless(snapshot: Snapshot, images: Images, name: string, by: string): Described {
  const described = describeImage(snapshot, images, name, by);
  const { method } = described.image;
  if (isBuiltMethod(method)) return described;
  throw new Fault(
    'invalid',
    `${name}: provmethod is ${JSON.stringify(method)}; only images of netboot and statelite, and those that are copied to disks (sysclone), are built here.`,
  );
}
