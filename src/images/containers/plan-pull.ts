import { Fault } from '../../core/errors.ts';
import type { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { RangeOptions } from '../../objects/cluster.ts';
import { changeObject, createObject } from '../../objects/define.ts';
import { objectExists, objectNames, storedAttribute } from '../../objects/definitions.ts';
import { typeNamed } from '../../objects/types.ts';
import type { Credentials } from '../../protocols/oci/authorizer.ts';
import { plainName } from '../bundles/bundle.ts';
import { describeDiskless, describeImage } from '../describe-image.ts';
import type { Images } from '../images.ts';
import { realPlace } from '../real-paths.ts';
import { containerArchitecture, ownArchitecture, type Pulled, type PullJob, type PullOptions } from './pull-job.ts';

const osimage = typeNamed('osimage');

export interface PullRequest {
  readonly name: string;
  readonly oci?: string | undefined;
  readonly file?: string | undefined;
  readonly login?: Credentials | undefined;
  readonly options: PullOptions;
}

/** Refuses what cannot be pulled, and says all that pulling it needs. */
export function planPull(snapshot: Snapshot, images: Images, request: PullRequest, by: string): PullJob {
  const { name, oci, file, login, options } = request;
  const { paths, containers } = images;
  const words = { name, profile: options.profile ?? name, osvers: options.osvers ?? 'any' };
  for (const [what, value] of Object.entries(words))
    if (!plainName.test(value))
      throw new Fault('invalid', `${what} ${JSON.stringify(value)} cannot be part of a path.`);
  const existing = objectExists(snapshot, osimage, name) ? describeDiskless(snapshot, images, name, by).job : undefined;
  const osarch = options.arch ?? existing?.osarch ?? ownArchitecture();
  containerArchitecture(osarch);
  if (existing) checkSame(name, existing, { ...options, arch: osarch });
  const osvers = options.osvers ?? existing?.osvers;
  const kernel = options.kernel;
  return {
    image: name,
    by,
    from:
      oci === undefined
        ? {
            kind: 'file',
            path: paths.source(snapshot, file ?? '', 'The container image'),
            ...(options.image === undefined ? {} : { name: options.image }),
          }
        : containers.registry(snapshot, oci, login),
    osarch,
    ...(osvers === undefined ? {} : { osvers }),
    profile: existing?.profile ?? words.profile,
    installDirectory: realPlace(paths.installDirectory(snapshot)),
    ...(existing === undefined ? {} : { directory: existing.directory }),
    anew: options.force === true,
    ...(kernel === undefined
      ? {}
      : { kernel: { image: kernel, directory: describeImage(snapshot, images, kernel, by).job.directory } }),
    blobs: containers.blobs,
    directories: objectNames(snapshot, osimage).flatMap(
      (each) => storedAttribute(snapshot, osimage, each, 'rootimgdir') || [],
    ),
    limits: containers.limits,
  };
}

/** What an image is does not change by pulling it again. */
function checkSame(
  name: string,
  { osvers, osarch, profile }: { readonly osvers: string; readonly osarch: string; readonly profile: string },
  options: PullOptions,
): void {
  const wanted = { osvers: options.osvers ?? osvers, osarch: options.arch, profile: options.profile ?? profile };
  for (const [attribute, value] of Object.entries({ osvers, osarch, profile }))
    if (wanted[attribute as keyof typeof wanted] !== value)
      throw new Fault(
        'invalid',
        `The image ${name} exists with ${attribute} ${value}: choose another name, or remove it first.`,
      );
}

/** Keeps what an image is. */
export function defineImage(draft: Draft, { image, attributes }: Pulled, ranges: RangeOptions): void {
  if (objectExists(draft.base, osimage, image)) changeObject(draft, osimage, image, attributes, 'set', ranges);
  else createObject(draft, osimage, image, attributes, ranges);
}
