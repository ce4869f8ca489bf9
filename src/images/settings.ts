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
  registries: setting(
    Registries,
    'registries that container images may be pulled from; a registry on this machine must be in this list',
    {
      defaultText: 'all except this machine and link-local addresses',
    },
  ),
  insecureRegistries: setting(Registries, 'registries to use without TLS', { defaultText: 'none' }),
  registryCa: setting(Path, 'PEM file with one more certificate authority to trust for registries', {
    defaultText: 'none',
  }),
  blobs: setting(Path, 'directory that keeps layers from registries', { defaultText: '`DIR/blobs`' }),
  largestContainer: setting(Count, 'largest size of a container image, in bytes', {
    default: 64 * 2 ** 30,
    defaultText: '64 GiB',
  }),
};

export const imageSettings = Type.Object({
  directories: setting(
    Paths,
    'more directories, besides the site attribute `installdir`, for images and their sources',
    {
      defaultText: 'none',
    },
  ),
  keptPacks: setting(Count, 'packed versions to keep of each image, including the one in use', { default: 3 }),
  ...containerSettings,
});
export type ImageSettings = ValuesOf<typeof imageSettings>;
