import { join } from 'node:path';
import { Fault } from '../../../core/errors.ts';
import type { Snapshot } from '../../../database/snapshot.ts';
import { objectAttributes, objectNames } from '../../../objects/definitions.ts';
import { listItems } from '../../../objects/effective.ts';
import { typeNamed } from '../../../objects/types.ts';
import { hostArchitecture } from '../build/families.ts';
import { describeImage, isBuiltMethod } from '../describe-image.ts';
import type { Images } from '../images.ts';
import { realPlace } from '../real-paths.ts';
import { fileAttributes } from './bundle.ts';
import type { ExportJob } from './export.ts';
import type { ImportJob } from './import.ts';

const osimage = typeNamed('osimage');

export interface ExportOptions {
  readonly by: string;
  readonly destination: string | undefined;
}

export function planExport(snapshot: Snapshot, images: Images, name: string, options: ExportOptions): ExportJob {
  const { image, job } = describeImage(snapshot, images, name, options.by);
  const usual = join(images.paths.installDirectory(snapshot), 'export', `${name}.tgz`);
  const destination = images.paths.place(snapshot, options.destination || usual, 'The destination');
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
