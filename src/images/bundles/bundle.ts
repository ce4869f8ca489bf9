import { type Static, Type } from 'typebox';
import { Fault } from '../../core/errors.ts';
import { schemaCheck } from '../../core/schema-check.ts';
import { installedPackage } from '../manifest.ts';

/** The first member of a bundle. */
export const bundleFile = 'muster-bundle.json';
export const longestBundleFile = 64 * 1024 * 1024;
export const mostMembers = 10_000;
/** A name that can be part of a path. */
export const plainName = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;

const text = Type.String();

const bundle = Type.Object({
  format: Type.Literal(1),
  image: text,
  /** The image's attributes; those that name files have the names of members. */
  attributes: Type.Record(text, text),
  /** What else is in it. */
  members: Type.Array(
    Type.Object({
      name: text,
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
      size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      /** The attribute that names it; absent: it is a part of the packed image. */
      attribute: Type.Optional(text),
    }),
  ),
  packages: Type.Array(installedPackage),
  /** Of the packed image. */
  pack: Type.Optional(Type.Object({ method: text, compress: text, when: text, by: text })),
  kernel: Type.Optional(text),
});
export type Bundle = Static<typeof bundle>;

const isBundle = schemaCheck(bundle).is;

export function parseBundle(json: string, what: string): Bundle {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Fault('invalid', `${what}: ${bundleFile} is not JSON.`, { cause: error });
  }
  if (isBundle(value)) return value;
  const { format } = (value ?? {}) as { format?: unknown };
  const reason =
    typeof format === 'number' && format > 1
      ? `has format ${format}, which only a newer muster reads`
      : 'was not written by muster';
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
