import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { objectAttributes, objectNames } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import { typeNamed } from '../../objects/types.ts';
import { hostArchitecture } from '../../objects/distributions.ts';
import { describeImage, isBuiltMethod } from '../describe-image.ts';
import type { Images } from '../images.ts';
import { isBelow, realPlace } from '../real-paths.ts';
import { fileAttributes } from './bundle.ts';
import type { ExportJob } from './export.ts';
import type { ImportJob } from './import.ts';

const osimage = typeNamed('osimage');
const exportName = 'export';

export interface ExportOptions {
  readonly by: string;
  readonly destination: string | undefined;
}

export function planExport(snapshot: Snapshot, images: Images, name: string, options: ExportOptions): ExportJob {
  const { image, job } = describeImage(snapshot, images, name, options.by);
  const destination = destinationOf(snapshot, images, name, options.destination);
  if (!/\.(tgz|tar\.gz)$/.test(destination))
    throw new Fault('invalid', `The destination ${destination} must end in .tgz or .tar.gz.`);
  const files = fileAttributes.flatMap((attribute) =>
    listItems(image.attribute(attribute)).map((path) => ({
      attribute,
      path: images.paths.source(snapshot, path, `${name}: ${attribute}`),
    })),
  );
  return {
    ...job,
    attributes: objectAttributes(snapshot, osimage, name),
    files,
    packed: isBuiltMethod(image.method),
    destination,
  };
}

/** Bundles go where nothing looks for files that nodes get. */
function destinationOf(snapshot: Snapshot, { paths }: Images, name: string, given: string | undefined): string {
  const usual = join(paths.installDirectory(snapshot), exportName);
  const real = paths.place(snapshot, given || join(usual, `${name}.tgz`), 'The destination');
  if (paths.roots(snapshot).some((root) => isBelow(real, join(root, exportName)))) return real;
  throw new Fault(
    'invalid',
    `The destination ${given} is not for bundles: they are written below ${usual}, or below ${exportName} in a directory of the setting images.directories.`,
  );
}

export interface ImportOptions {
  readonly file: string;
  readonly name?: string | undefined;
  readonly profile?: string | undefined;
  readonly arch?: string | undefined;
}

export function planImport(snapshot: Snapshot, images: Images, options: ImportOptions, by: string): ImportJob {
  const { file, name, profile, arch } = options;
  return {
    file: images.paths.source(snapshot, file, 'The bundle'),
    installDirectory: realPlace(images.paths.installDirectory(snapshot)),
    ...(name === undefined ? {} : { name }),
    ...(profile === undefined ? {} : { profile }),
    osarch: arch ?? hostArchitecture(),
    taken: objectNames(snapshot, osimage),
    known: [...osimage.attributes.keys()],
    by,
  };
}
