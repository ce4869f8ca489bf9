import { Fault } from '../../core/errors.ts';

/** Packages that are installed together, before those of the next step. */
export interface PackageStep {
  /** Removed first. */
  readonly removeBefore: readonly string[];
  /** `@name` is a group of packages. */
  readonly install: readonly string[];
  readonly removeAfter: readonly string[];
  /** For the package manager. */
  readonly environment: Readonly<Record<string, string>>;
}

type Reader = (path: string) => Promise<string>;

const include = /^#INCLUDE:\s*(.+?)\s*#$/;
const nextStep = /^#NEW_INSTALL_LIST#$/;
const variable = /^#ENV:\s*([A-Za-z_][A-Za-z0-9_]*)=(.*?)\s*#$/;
// What all package managers take as names, versions and architectures; no dash first, which would make it an option.
const packageName = /^@?[A-Za-z0-9][A-Za-z0-9+._:~=^/-]*$/;
// A group has a name of several words, and `^` before it if it is an environment.
const groupName = /^@\^?[A-Za-z0-9][A-Za-z0-9+._:&(), /-]*$/;
const groupLine = /^(-{0,2})@\s+(.+)$/;
const deepest = 8;

type Step = Record<'removeBefore' | 'install' | 'removeAfter', string[]> & { environment: Record<string, string> };

const newStep = (): Step => ({ removeBefore: [], install: [], removeAfter: [], environment: {} });

/** Reads package lists and what they include. `read` gets paths as they are written. */
export async function readPackageLists(paths: readonly string[], read: Reader): Promise<PackageStep[]> {
  const steps = [newStep()];
  for (const path of paths) await readInto(steps, path, read, []);
  return steps.filter(
    ({ removeBefore, install, removeAfter }) => removeBefore.length + install.length + removeAfter.length > 0,
  );
}

async function readInto(steps: Step[], path: string, read: Reader, above: readonly string[]): Promise<void> {
  if (above.includes(path) || above.length > deepest) {
    throw new Fault('invalid', `${above.at(-1)} includes ${path}, which includes it again.`);
  }
  for (const [index, raw] of (await read(path)).split('\n').entries()) {
    const line = raw.trim();
    const where = `${path}, line ${index + 1}`;
    const included = include.exec(line)?.[1];
    const setting = variable.exec(line);
    if (included !== undefined) await readInto(steps, besides(path, included), read, [...above, path]);
    else if (nextStep.test(line)) steps.push(newStep());
    else if (setting) steps.at(-1)!.environment[setting[1]!] = setting[2]!;
    else if (line !== '' && !line.startsWith('#')) for (const word of wordsOf(line)) add(steps.at(-1)!, word, where);
  }
}

/** A blank behind `@` says that the rest of the line is the name of one group. */
function wordsOf(line: string): string[] {
  const group = groupLine.exec(line);
  return group ? [`${group[1]}@${group[2]}`] : line.split(/[\s,]+/);
}

/** An included file that is no full path is beside the one that includes it. */
const besides = (path: string, included: string): string =>
  included.startsWith('/') ? included : `${path.slice(0, path.lastIndexOf('/') + 1)}${included}`;

function add(step: Step, word: string, where: string): void {
  if (word === '') return;
  const name = word.replace(/^--?/, '');
  checkName(name, where);
  if (name === word) step.install.push(name);
  else if (name.startsWith('@'))
    throw new Fault('invalid', `${where}: ${name} is a group; name the packages to remove.`);
  else (word.startsWith('--') ? step.removeAfter : step.removeBefore).push(name);
}

function checkName(name: string, where: string): void {
  if (!packageName.test(name) && !groupName.test(name))
    throw new Fault('invalid', `${where}: ${JSON.stringify(name)} is not the name of a package.`);
}

/** Other packages are named with the directory they lie in; the package manager finds them in the repositories it knows. */
export function withoutDirectories(step: PackageStep): PackageStep {
  const plain = (names: readonly string[]): string[] => names.map((name) => name.slice(name.lastIndexOf('/') + 1));
  return {
    ...step,
    removeBefore: plain(step.removeBefore),
    install: plain(step.install),
    removeAfter: plain(step.removeAfter),
  };
}
