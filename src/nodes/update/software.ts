import type { Sources } from '../../access/file-sources.ts';
import { Fault, type FaultData, unlessFault } from '../../core/errors.ts';
import { commandLine, quoteWord, withEnvironment } from '../../core/shell-words.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { imageOf, listFiles } from '../../objects/node-image.ts';
import { Findings, readList, naming } from './findings.ts';
import { endOf, framed, lastWords, type NodeShell, type ScriptReport } from './node-shell.ts';
import { type PackageStep, readPackageLists, withoutDirectories } from './package-list.ts';
import { parsePostscript } from './postscripts.ts';

interface Manager {
  /** Brings its knowledge of the repositories up to date. */
  readonly refresh: readonly string[];
  readonly install: readonly string[];
  readonly remove: readonly string[];
  /** Codes other than 0 with which it ends after it has succeeded: something has to be restarted. */
  readonly alsoGood?: readonly number[];
  /** A shell test of `$p` being installed: what is not there need not be removed. */
  readonly installed: string;
  /** The word for a group of packages. */
  group(name: string): string;
}

const rpm = 'rpm -q "$p"';

const yumLike = (program: string): Manager => ({
  refresh: [program, '-q', 'makecache'],
  install: [program, '-y', 'install'],
  remove: [program, '-y', 'remove'],
  installed: rpm,
  group: (name) => `@${name}`,
});

const managers = {
  'apt-get': {
    refresh: ['apt-get', '-q', 'update'],
    install: 'apt-get -q -y -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install'.split(' '),
    remove: ['apt-get', '-q', '-y', 'remove'],
    installed: 'dpkg -s "$p"',
    group: (name: string) => `${name}^`,
  },
  dnf: yumLike('dnf'),
  yum: yumLike('yum'),
  zypper: {
    refresh: ['zypper', '--non-interactive', 'refresh'],
    install: ['zypper', '--non-interactive', 'install'],
    remove: ['zypper', '--non-interactive', 'remove'],
    alsoGood: [102, 103],
    installed: rpm,
    group: (name: string) => `pattern:${name}`,
  },
} as const satisfies Record<string, Manager>;

type PackageManager = keyof typeof managers;
const names = Object.keys(managers) as PackageManager[];

const looking = `
ID= ID_LIKE=
for f in /etc/os-release /usr/lib/os-release; do [ -r "$f" ] && { . "$f"; break; }; done
case " $ID $ID_LIKE " in
  *" debian "* | *" ubuntu "*) usual=apt-get ;;
  *" fedora "* | *" rhel "* | *" centos "*) usual='dnf yum' ;;
  *suse* | *" sles "*) usual=zypper ;;
  *) usual= ;;
esac
for m in $usual ${names.join(' ')}; do command -v "$m" > /dev/null 2>&1 && { echo "$m"; exit; }; done
exit 0`;

/** Prints the package manager of the node's distribution, else the first that is there: others may be installed as packages. */
export const findManager = commandLine(['sh', '-c', looking]);

const managerNamed = (text: string | undefined): PackageManager | undefined => names.find((name) => name === text);

/** The command that carries out the steps; the first that fails ends it. */
export function packageCommand(name: PackageManager, steps: readonly PackageStep[]): string {
  const manager: Manager = managers[name];
  const commands = steps.map((step) => {
    const parts = [
      ...removal(manager, step.removeBefore),
      ...(step.install.length > 0 ? [installation(manager, step.install)] : []),
      ...removal(manager, step.removeAfter),
    ];
    return `( ${withEnvironment(step.environment, parts.join(' && '))} )`;
  });
  return withEnvironment(
    { DEBIAN_FRONTEND: 'noninteractive' },
    [commandLine(manager.refresh), ...commands].join(' && '),
  );
}

/** The same for a node whose package manager is not known here; it does nothing where the steps are done already. */
export function softwareScript(steps: readonly PackageStep[]): string {
  const wanted = steps.flatMap(({ install }) => install);
  const unwanted = steps.flatMap(({ removeBefore, removeAfter }) => [...removeBefore, ...removeAfter]);
  const words = (packages: readonly string[]): string => ['', ...packages.map(quoteWord)].join(' ');
  const cases = names.map((name) => {
    const { installed } = managers[name];
    return [
      `${name})`,
      `needed=`,
      `for p in${words(wanted)}; do ${installed} > /dev/null 2>&1 || needed=yes; done`,
      `for p in${words(unwanted)}; do if ${installed} > /dev/null 2>&1; then needed=yes; fi; done`,
      `[ -n "$needed" ] || exit 0`,
      packageCommand(name, steps),
      ';;',
    ].join('\n');
  });
  const none = 'echo "There is none of the package managers apt-get, dnf, yum and zypper."\nexit 1\n;;';
  return `case $(${findManager}) in\n${cases.join('\n')}\n*)\n${none}\nesac`;
}

function installation({ install, group, alsoGood = [] }: Manager, packages: readonly string[]): string {
  const words = packages.map((each) => (each.startsWith('@') ? group(each.slice(1)) : each));
  return accepting(alsoGood, commandLine([...install, '--', ...words]));
}

function removal({ installed, remove, alsoGood = [] }: Manager, packages: readonly string[]): string[] {
  if (packages.length === 0) return [];
  const one = accepting(alsoGood, `${commandLine(remove)} -- "$p"`);
  return [
    `for p in ${packages.map(quoteWord).join(' ')}; do if ${installed} > /dev/null 2>&1; then ${one} || exit; fi; done`,
  ];
}

/** The command, whose end by one of these codes is a success. */
const accepting = (codes: readonly number[], command: string): string =>
  codes.length === 0
    ? command
    : `{ ${command} || { r=$?; case $r in ${codes.join('|')}) ;; *) ( exit $r );; esac; }; }`;

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
  const steps = await naming(failed, async () => unlessFault(found));
  // Also asked when there is nothing to do: a node that cannot be reached is no success.
  const manager = await naming(failed, () => findOn(shell));
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
