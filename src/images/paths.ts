import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { effectiveReader } from '../objects/effective.ts';
import type { Sources } from '../access/file-sources.ts';
import { installDirectory } from '../objects/node-image.ts';
import { manifestFile, packsName, privateName, treeName } from './manifest.ts';
import { isBelow, lstat, realPathOf, realPlace } from './real-paths.ts';

/** The operating system's own: whatever attributes and settings say, no image is put there. */
const system = ['/bin', '/boot', '/dev', '/etc', '/lib', '/lib64', '/proc', '/root', '/run', '/sbin', '/sys', '/usr'];

/** Where images may lie and what they may be made from. */
export class ImagePaths {
  readonly #directories: readonly string[];
  readonly #data: string;
  readonly #sources: Sources;

  /** `data` holds keys: nothing of it becomes part of an image. What may be sent to nodes may be put into images too. */
  constructor(directories: readonly string[], data: string, sources: Sources) {
    this.#directories = directories;
    this.#data = data;
    this.#sources = sources;
  }

  installDirectory(snapshot: Snapshot): string {
    return installDirectory(effectiveReader(snapshot));
  }

  /** The real path of something that is to be made or replaced; it need not exist. `what` begins a sentence about it. */
  place(snapshot: Snapshot, path: string, what: string): string {
    const clean = checkForm(path, what);
    if (lstat(clean)?.isSymbolicLink())
      throw new Fault('invalid', `${what} ${path} is a symbolic link; name the directory itself.`);
    const real = realPlace(clean);
    if (!this.roots(snapshot).some((directory) => real !== directory && isBelow(real, directory)))
      throw this.#outside(snapshot, what, path);
    this.#checkOwn(real, what, path);
    const other = imageAround(real);
    if (other !== undefined)
      throw new Fault('invalid', `${what} ${path} is part of the image in ${other}; choose another place.`);
    return real;
  }

  /** The real path of a file or directory that is read. */
  source(snapshot: Snapshot, path: string, what: string): string {
    const clean = checkForm(path, what);
    const real = realPathOf(clean);
    if (!this.roots(snapshot).some((directory) => isBelow(real ?? clean, directory))) {
      if (!this.#sources.covers(clean)) throw this.#outside(snapshot, what, path);
      return this.#sources.admit(clean);
    }
    if (real === undefined) throw new Fault('invalid', `${what} ${path} does not exist on the management node.`);
    this.#checkOwn(real, what, path);
    return real;
  }

  /** The directories for images, by their real paths. */
  roots(snapshot: Snapshot): string[] {
    const all = [this.installDirectory(snapshot), ...this.#directories];
    return all.filter(isAbsolute).map((directory) => realPlace(resolve(directory)));
  }

  #outside(snapshot: Snapshot, what: string, path: string): Fault {
    const further = this.#directories.join(', ') || 'none';
    return new Fault(
      'invalid',
      `${what} ${path} is outside the directories for images: site.installdir (${this.installDirectory(snapshot)}) and those in the ` +
        `setting images.directories (${further}). Put it there, or name its directory in that setting.`,
    );
  }

  #checkOwn(real: string, what: string, path: string): void {
    const data = realPlace(this.#data);
    const own = real === '/' ? real : system.find((directory) => isBelow(real, directory));
    if (own !== undefined)
      throw new Fault(
        'invalid',
        `${what} ${path} is in ${own}, which belongs to the operating system and is never used for images; put it below site.installdir.`,
      );
    if (isBelow(data, real) || (isBelow(real, data) && !this.#isOpened(real, data)))
      throw new Fault('invalid', `${what} ${path} is part of muster's own data; choose another place.`);
  }

  /** Directories below the data are usable if they are named themselves. */
  #isOpened(real: string, data: string): boolean {
    return this.#directories
      .map((directory) => realPlace(directory))
      .some((directory) => directory !== data && isBelow(directory, data) && isBelow(real, directory));
  }
}

/** The directory of an image whose tree or packs a path lies in. */
function imageAround(path: string): string | undefined {
  for (let [inside, above] = [path, dirname(path)]; above !== '/'; [inside, above] = [above, dirname(above)])
    if ([treeName, privateName, packsName].includes(basename(inside)) && lstat(join(above, manifestFile))) return above;
  return undefined;
}

function checkForm(path: string, what: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(path))
    throw new Fault('invalid', `${what} ${JSON.stringify(path)} contains a control character.`);
  if (!isAbsolute(path)) throw new Fault('invalid', `${what} "${path}" is not a full path on the management node.`);
  if (path.split('/').includes('..')) throw new Fault('invalid', `${what} ${path} must not go up with "..".`);
  return resolve(path);
}
