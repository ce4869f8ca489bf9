import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { objectExists, storedAttribute } from '../../objects/definitions.ts';
import { listItems } from '../../core/list-items.ts';
import { typeNamed } from '../../objects/types.ts';
import type { Images } from '../images.ts';
import { checkSearchable, type ModulesJob } from './list-modules.ts';

/** Names of objects, by their types. */
export type ModulesWanted = Readonly<Partial<Record<ModuleSource, readonly string[] | undefined>>>;
export type ModuleSource = 'osimage' | 'kitcomponent' | 'osdistro' | 'osdistroupdate';

/** Packages with the kernel of a distribution, or its modules. */
const kernelPackage =
  /^(kernel(-(core|modules|modules-core|default|smp|uek))?-\d[^/]*\.rpm|linux-(image|modules)[^/]*\.deb)$/;

/** Where each object has kernel modules, as full paths. */
const placesOf: Readonly<
  Record<ModuleSource, (stored: (attribute: string) => string, snapshot: Snapshot) => string[]>
> = {
  osimage: (stored) => listItems(stored('driverupdatesrc')).map((each) => each.replace(/^(dir|rpm):/, '')),
  kitcomponent(stored, snapshot) {
    const directory = storedAttribute(snapshot, typeNamed('kitrepo'), stored('kitreponame'), 'kitrepodir') ?? '';
    return listItems(stored('driverpacks')).map((each) => join(directory, each));
  },
  osdistro: (stored) => listItems(stored('dirpaths')).flatMap(kernelPackages),
  osdistroupdate: (stored) => listItems(stored('dirpath')).flatMap(kernelPackages),
};

/** Refuses what does not exist or cannot be searched. */
export function planModules(snapshot: Snapshot, images: Images, wanted: ModulesWanted): ModulesJob {
  const places = (Object.keys(placesOf) as ModuleSource[]).flatMap((source) =>
    (wanted[source] ?? []).flatMap((name) => {
      const type = typeNamed(source);
      if (!objectExists(snapshot, type, name))
        throw new Fault('unknown-object', `There is no ${source} ${name}.`, { missing: [name] });
      const found = placesOf[source]((attribute) => storedAttribute(snapshot, type, name, attribute) ?? '', snapshot);
      return found.map((path) => {
        const real = images.paths.source(snapshot, path, `${name}:`);
        checkSearchable(real, `${name}:`);
        return real;
      });
    }),
  );
  return { places: [...new Set(places)], beside: images.paths.roots(snapshot)[0]! };
}

function kernelPackages(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && kernelPackage.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  } catch (error) {
    throw new Fault('invalid', `${directory} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}
