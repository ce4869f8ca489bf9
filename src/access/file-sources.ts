import { realpathSync } from 'node:fs';
import { isAbsolute, resolve, sep } from 'node:path';
import { Fault } from '../core/errors.ts';
import { checkText } from '../core/shell-words.ts';

/** The directories of the management node whose files accounts without full rights may have sent to nodes. */
export class Sources {
  readonly #directories: readonly string[];
  readonly #data: string;
  readonly #shipped: readonly string[];

  /**
   * `data` holds keys; nothing in it is sent, except what is in a directory below it that is one of those named. What is `shipped`
   * with muster may be sent too.
   */
  constructor(directories: readonly string[], data: string, shipped: readonly string[] = []) {
    this.#directories = directories;
    this.#data = data;
    this.#shipped = shipped;
  }

  /** What accounts with full rights may have sent: everything but muster's own data. */
  get everywhere(): Sources {
    return new Sources([sep, ...this.#directories], this.#data, this.#shipped);
  }

  /** The real path of a file or directory; one outside the directories must be `allowed`, by its real path, where rules count. */
  admit(path: string, allowed?: (real: string) => boolean): string {
    checkText(path, `the path ${JSON.stringify(path)}`);
    if (!isAbsolute(path)) {
      throw new Fault('invalid', `"${path}" is not an absolute path of a file on the management node.`);
    }
    const directories = this.#real();
    const real = realPath(path);
    // Whether a file exists elsewhere is nobody's business.
    if (!this.covers(path) && allowed?.(real ?? resolve(path)) !== true)
      throw this.#outside(path, allowed !== undefined);
    if (real === undefined)
      throw new Fault('invalid', `There is no file ${path} on the management node.`, {
        reference: [`File ${path} does not exist`],
      });
    const data = realPath(this.#data) ?? this.#data;
    const open = directories.some(
      (directory) => directory !== data && isBelow(directory, data) && isBelow(real, directory),
    );
    if ((isBelow(real, data) && !open) || isBelow(data, real)) {
      throw new Fault('invalid', `${path} is part of muster's own data, which is not sent to nodes.`);
    }
    return real;
  }

  /** Whether a path lies in the directories, or would if it existed. */
  covers(path: string): boolean {
    const real = realPath(path) ?? resolve(path);
    return this.#real().some((directory) => isBelow(real, directory));
  }

  /** Whether it is one of the directories itself, by its real path. */
  names(directory: string): boolean {
    return this.#real().includes(directory);
  }

  #real(): string[] {
    return [...this.#directories, ...this.#shipped].map((directory) => realPath(directory) ?? resolve(directory));
  }

  #outside(path: string, rulesCount: boolean): Fault {
    const byRule = rulesCount
      ? ', or allow the path by the parameters of a policy rule. The restriction does not hold for accounts with full rights'
      : '';
    return new Fault(
      'invalid',
      `${path} is outside the directories whose files may be sent to nodes (${this.#directories.join(', ')}). Put it there or ` +
        `name its directory in the setting remote.sources${byRule}.`,
    );
  }
}

const isBelow = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
