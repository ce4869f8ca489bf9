import { createHash } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { type RemoteAccess, type RemoteTarget, readRealText } from '../../nodes/index.ts';
import { objectExists } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { installDirectory } from '../../objects/node-image.ts';
import { typeNamed } from '../../objects/types.ts';
import { plainName } from '../bundles/bundle.ts';
import { describeDiskless } from '../describe-image.ts';
import { type ImageJob, usualDirectory } from '../image-job.ts';
import type { Images } from '../images.ts';
import type { Used } from '../manifest.ts';
import { listFileFor } from '../media/images-made.ts';
import { readExclusions } from '../pack/exclusions.ts';
import type { CaptureJob } from './capture.ts';

const osimage = typeNamed('osimage');

export type CaptureType = 'diskless' | 'sysclone';

export interface CaptureRequest {
  readonly node: string;
  readonly image: string;
  readonly type: CaptureType;
  readonly profile?: string | undefined;
  /** A list of what is left out. */
  readonly exlist?: string | undefined;
  readonly netdrivers?: string | undefined;
  readonly by: string;
}

/** Refuses what cannot be captured, and says all that capturing it needs. */
export async function planCapture(
  snapshot: Snapshot,
  images: Images,
  request: CaptureRequest,
  way: { readonly target: RemoteTarget; readonly access: RemoteAccess },
): Promise<CaptureJob> {
  const { node, exlist } = request;
  const { job, attributes } = imageFor(snapshot, images, request);
  const { osvers: os, osarch: arch, profile } = job;
  const usual = listFileFor(
    installDirectory(effectiveReader(snapshot)),
    { os, arch, profile },
    'netboot',
    'imgcapture.exlist',
  );
  const lists: Used[] = [];
  const read = async (path: string): Promise<string> => {
    const text = await readRealText(images.paths.source(snapshot, path, 'The exclude list'), path);
    lists.push({ path, sha256: createHash('sha256').update(text).digest('hex') });
    return text;
  };
  const paths = [exlist ?? usual].filter((path) => path !== undefined);
  const drivers = listItems(request.netdrivers ?? '');
  const wrong = drivers.find((each) => !/^[A-Za-z0-9_][A-Za-z0-9_-]*(\.ko)?$/.test(each));
  if (wrong !== undefined) throw new Fault('invalid', `${JSON.stringify(wrong)} is not the name of a driver.`);
  return {
    ...job,
    ...way,
    node,
    exclusions: await readExclusions(paths, read),
    lists,
    netdrivers: drivers,
    limits: images.containers.limits,
    attributes: { ...attributes, ...(drivers.length === 0 ? {} : { netdrivers: drivers.join(',') }) },
  };
}

/** An image that is defined stays what it is; another one gets system, architecture and profile of the node. */
function imageFor(
  snapshot: Snapshot,
  images: Images,
  { node, image, type, profile, by }: CaptureRequest,
): { readonly job: ImageJob; readonly attributes: Record<string, string> } {
  const wanted = type === 'sysclone' ? ['sysclone'] : ['netboot', 'statelite'];
  if (objectExists(snapshot, osimage, image)) {
    const { image: defined, job } = describeDiskless(snapshot, images, image, by);
    if (!wanted.includes(defined.method) || (profile !== undefined && profile !== job.profile))
      throw new Fault(
        'invalid',
        `The image ${image} exists with provmethod ${defined.method} and profile ${job.profile}: capture another type or profile under another name.`,
      );
    return { job, attributes: { rootimgdir: job.directory } };
  }
  const reader = effectiveReader(snapshot);
  const own = (attribute: string): string => nodeAttribute(reader, node, attribute) ?? '';
  const parts = { osvers: own('os'), osarch: own('arch'), profile: profile ?? own('profile') };
  for (const [what, value] of Object.entries({ ...parts, image }))
    if (!plainName.test(value))
      throw new Fault(
        'invalid',
        value === ''
          ? `${node}: set its os, arch and profile first; the image gets them.`
          : `${what} ${JSON.stringify(value)} cannot be part of a path.`,
      );
  const [method = ''] = wanted;
  // Two captures of one profile must not share a directory.
  const usual = usualDirectory(images.paths.installDirectory(snapshot), { ...parts, profile: image, method });
  const directory = images.paths.place(snapshot, usual, 'The directory of the image');
  return {
    job: { image, ...parts, directory, by },
    attributes: { imagetype: 'linux', osname: 'Linux', provmethod: method, ...parts, rootimgdir: directory },
  };
}
