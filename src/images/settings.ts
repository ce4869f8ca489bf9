import { Type } from 'typebox';
import { Count, kind, Path, Paths, setting, type ValuesOf } from '../core/settings.ts';
import { isRegistry } from '../protocols/oci/reference.ts';

const Registries = kind(
  'one or more registries HOST or HOST:PORT',
  Type.Array(
    Type.Refine(Type.String(), (text) => isRegistry(text) && text === text.toLowerCase()),
    { minItems: 1 },
  ),
);

/** Part of the section of images. */
const containerSettings = {
  registries: setting(Registries, 'registries that container images are pulled from; these may be on this machine', {
    defaultText: 'any that are not on this machine or its link',
  }),
  insecureRegistries: setting(Registries, 'registries that are asked without TLS', { defaultText: 'none' }),
  registryCa: setting(
    Path,
    'PEM file of a certificate authority that signs certificates of registries, besides the known ones',
    {
      defaultText: 'none',
    },
  ),
  blobs: setting(Path, 'where layers from registries are kept', { defaultText: '`DIR/blobs`' }),
  largestContainer: setting(Count, 'bytes that the files of a container image may have', {
    default: 64 * 2 ** 30,
    defaultText: '64 GiB',
  }),
};

export const imageSettings = Type.Object({
  directories: setting(Paths, 'directories besides `site.installdir` that images may lie in and be made from', {
    defaultText: 'none',
  }),
  keptPacks: setting(Count, 'packs of an image that are kept, the one in use among them', { default: 3 }),
  ...containerSettings,
});
export type ImageSettings = ValuesOf<typeof imageSettings>;
