import { Fault, type FaultData, unlessFault } from '../../core/errors.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import type { Sources } from '../remote/sources.ts';
import { Findings, readList } from './findings.ts';
import { imageOf, listFiles } from './node-image.ts';
import { endOf, framed, lastWords, type NodeShell, type ScriptReport } from './node-shell.ts';
import { findManager, managerNamed, packageCommand, type PackageManager } from './package-commands.ts';
import { type PackageStep, readPackageLists, withoutDirectories } from './package-list.ts';
import { parsePostscript } from './postscripts.ts';
import { telling } from './telling.ts';

/** The distribution's packages; others. The reference system has scripts of these names. */
export type SoftwareName = 'ospkgs' | 'otherpkgs';
export const softwareNames: readonly SoftwareName[] = ['ospkgs', 'otherpkgs'];

const lists = {
  ospkgs: { attribute: 'pkglist', ending: 'pkglist' },
  otherpkgs: { attribute: 'otherpkglist', ending: 'otherpkgs.pkglist' },
} as const;

const failed = 'Software maintenance failed';
/** Installing may take long. */
const timeout = 3_600_000;

/** Packages that images say nodes shall have. Lists are read once, however many nodes share them. */
export class PackageLists {
  /** Under what `keyFor` says. */
  readonly found = new Findings<readonly PackageStep[]>();
  readonly #reader: EffectiveReader;
  readonly #sources: Sources;

  constructor(reader: EffectiveReader, sources: Sources) {
    this.#reader = reader;
    this.#sources = sources;
  }

  /** When it resolves, the node's packages are found. */
  async keyFor(node: string, name: SoftwareName): Promise<string> {
    const { attribute, ending } = lists[name];
    const paths = listFiles(this.#reader, imageOf(this.#reader, node), attribute, ending);
    const key = JSON.stringify([name, ...paths]);
    await this.found.find(key, () => this.#read(paths, name));
    return key;
  }

  async #read(paths: readonly string[], name: SoftwareName): Promise<PackageStep[]> {
    const steps = await readPackageLists(paths, (path) => readList(this.#sources, path));
    return name === 'ospkgs' ? steps : steps.map(withoutDirectories);
  }
}

/** Installs and removes what the node's list of that name says. */
export async function maintain(
  shell: NodeShell,
  name: SoftwareName,
  found: readonly PackageStep[] | FaultData,
): Promise<ScriptReport> {
  const steps = await telling(failed, async () => unlessFault(found));
  // Also asked when there is nothing to do: a node that cannot be reached is no success.
  const manager = await telling(failed, () => findOn(shell));
  const script = parsePostscript(name);
  if (steps.length === 0) return { ok: true, lines: framed(script, [], 'exited with code 0') };
  if (!manager)
    throw new Fault('invalid', `${failed}: it has none of the package managers apt-get, dnf, yum and zypper.`);
  const { exit, lines } = await shell.run(packageCommand(manager, steps), timeout);
  const report = { ok: exit.code === 0, lines: framed(script, lines, endOf(exit)) };
  if (report.ok) return report;
  return { ...report, fault: new Fault('invalid', `${failed}: ${name} ${endOf(exit)}${lastWords(lines)}`) };
}

async function findOn(shell: NodeShell): Promise<PackageManager | undefined> {
  const [found] = await shell.must(findManager, 'looking for a package manager');
  return managerNamed(found);
}
