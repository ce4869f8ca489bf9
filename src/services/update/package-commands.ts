import { commandLine, quoteWord, withEnvironment } from '../../core/shell-words.ts';
import type { PackageStep } from './package-list.ts';

interface Manager {
  /** Brings its knowledge of the repositories up to date. */
  readonly refresh: readonly string[];
  readonly install: readonly string[];
  readonly remove: readonly string[];
  /** Codes other than 0 with which it ends after it has succeeded: something has to be started anew. */
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

export type PackageManager = keyof typeof managers;
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

export const managerNamed = (text: string | undefined): PackageManager | undefined =>
  names.find((name) => name === text);

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
