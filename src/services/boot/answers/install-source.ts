import { relative } from 'node:path';
import { Fault } from '../../../core/errors.ts';
import type { Snapshot } from '../../../database/snapshot.ts';
import { type PackageSource, parseSources } from '../../images/build/package-sources.ts';
import type { ImagePaths } from '../../images/paths.ts';
import { isBelow, realPlace } from '../../images/real-paths.ts';
import type { NodeImage } from '../../update/node-image.ts';

/** Where an installer gets packages from. */
export interface InstallSource {
  readonly url: string;
  /** Behind a URL of apt. */
  readonly suite?: string;
  readonly components: readonly string[];
  /** The directory of a tree that the boot listener serves at the URL. */
  readonly directory?: string;
}

export const isTree = ({ directory }: InstallSource): boolean => directory !== undefined;

/** The place of a directory below the URL of this server; undefined: it is not served. */
export function installPath(installdir: string, directory: string): string | undefined {
  const root = realPlace(installdir);
  return directory !== root && isBelow(directory, root) ? `boot/install/${relative(root, directory)}` : undefined;
}

/** What an attribute such as `pkgdir` names, as nodes reach it. */
export function sourcesOf(
  snapshot: Snapshot,
  paths: ImagePaths,
  image: NodeImage,
  attribute: 'pkgdir' | 'otherpkgdir',
  server: string,
): InstallSource[] {
  const what = `${image.name}: ${attribute}`;
  const admit = (path: string): string => paths.source(snapshot, path, what);
  return parseSources(image.attribute(attribute), what, admit).map((source) =>
    reached(snapshot, paths, source, what, server),
  );
}

function reached(
  snapshot: Snapshot,
  paths: ImagePaths,
  source: PackageSource,
  what: string,
  server: string,
): InstallSource {
  if (source.kind === 'url') {
    const { url, suite, components } = source;
    return { url, components, ...(suite === undefined ? {} : { suite }) };
  }
  const path = installPath(paths.installDirectory(snapshot), source.path);
  if (path === undefined)
    throw new Fault(
      'invalid',
      `${what} ${source.path} is not below ${paths.installDirectory(snapshot)}, the only directory that installers get files from.`,
    );
  return { url: `http://${server}/${path}`, components: [], directory: source.path };
}
