import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { Fault } from '../../../core/errors.ts';

/** The first member of a bundle. */
export const bundleFile = 'muster-bundle.json';
export const longestBundleFile = 64 * 1024 * 1024;
export const mostMembers = 10_000;
/** A name that can be part of a path. */
export const plainName = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;

const Bundle = Type.Object({
  format: Type.Literal(1),
  image: Type.String(),
  /** The image's attributes; those that name files have the names of members. */
  attributes: Type.Record(Type.String(), Type.String()),
  /** What else is in it. */
  members: Type.Array(
    Type.Object({
      name: Type.String(),
      sha256: Type.String({ pattern: /^[0-9a-f]{64}$/ }),
      size: Type.Integer({ minimum: 0 }),
      /** The attribute that names it; absent: it is a part of the packed image. */
      attribute: Type.Optional(Type.String()),
    }),
  ),
  /** Of the packed image. */
  pack: Type.Optional(
    Type.Object({ method: Type.String(), compress: Type.String(), when: Type.String(), by: Type.String() }),
  ),
  packages: Type.Array(Type.Object({ name: Type.String(), version: Type.String(), arch: Type.String() })),
  kernel: Type.Optional(Type.String()),
});
export type Bundle = Static<typeof Bundle>;

export function parseBundle(text: string, what: string): Bundle {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Fault('invalid', `${what}: ${bundleFile} is no JSON.`, { cause: error });
  }
  if (Check(Bundle, value)) return value;
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
