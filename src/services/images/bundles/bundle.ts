import { Fault } from '../../../core/errors.ts';
import {
  count,
  listOf,
  objectOf,
  objectWith,
  oneOf,
  recordOf,
  type Shaped,
  text,
  textLike,
} from '../../../core/shape.ts';
import { installedPackage } from '../manifest-schema.ts';

/** The first member of a bundle. */
export const bundleFile = 'muster-bundle.json';
export const longestBundleFile = 64 * 1024 * 1024;
export const mostMembers = 10_000;
/** A name that can be part of a path. */
export const plainName = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;

const isBundle = objectWith(
  {
    format: oneOf(1),
    image: text,
    /** The image's attributes; those that name files have the names of members. */
    attributes: recordOf(text),
    /** What else is in it. */
    members: listOf(
      objectWith(
        { name: text, sha256: textLike(/^[0-9a-f]{64}$/), size: count },
        /** The attribute that names it; absent: it is a part of the packed image. */
        { attribute: text },
      ),
    ),
    packages: listOf(installedPackage),
  },
  {
    /** Of the packed image. */
    pack: objectOf({ method: text, compress: text, when: text, by: text }),
    kernel: text,
  },
);
export type Bundle = Shaped<typeof isBundle>;

export function parseBundle(json: string, what: string): Bundle {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Fault('invalid', `${what}: ${bundleFile} is no JSON.`, { cause: error });
  }
  if (isBundle(value)) return value;
  const { format } = (value ?? {}) as { format?: unknown };
  const reason =
    typeof format === 'number' && format > 1
      ? `is of format ${format}, which a newer muster reads`
      : 'is not what muster writes';
  throw new Fault('invalid', `${what}: ${bundleFile} ${reason}.`);
}

/** Attributes that name files of the management node, which travel with the image. */
export const fileAttributes = [
  'pkglist',
  'otherpkglist',
  'exlist',
  'postinstall',
  'synclists',
  'template',
  'partitionfile',
] as const;
/** Attributes that only mean something where they were set. */
export const localAttributes: readonly string[] = ['rootimgdir', 'imagename', 'kerneldir', 'driverupdatesrc', 'groups'];
