import { commandLine, quoteWord, withEnvironment } from '../../protocols/ssh/quote.ts';
import type { PackageStep } from './package-list.ts';

/** How one package manager is told what to do. */
interface Manager {
  /** Brings its knowledge of the repositories up to date. */
  readonly refresh: readonly string[];
  readonly install: readonly string[];
  readonly remove: readonly string[];
  /** A shell test of `$p` being installed: what is not there need not be removed. */
  readonly installed: string;
  /** The word for a group of packages. */
  group(name: string): string;
}

const rpm = 'rpm -q "$p"';

const managers = {
  'apt-get': {
    refresh: ['apt-get', '-q', 'update'],
    install: [
      'apt-get',
      '-q',
      '-y',
      '-o',
      'Dpkg::Options::=--force-confdef',
      '-o',
      'Dpkg::Options::=--force-confold',
      'install',
    ],
    remove: ['apt-get', '-q', '-y', 'remove'],
    installed: 'dpkg -s "$p"',
    group: (name: string) => `${name}^`,
  },
  dnf: {
    refresh: ['dnf', '-q', 'makecache'],
    install: ['dnf', '-y', 'install'],
    remove: ['dnf', '-y', 'remove'],
    installed: rpm,
    group: (name: string) => `@${name}`,
  },
  yum: {
    refresh: ['yum', '-q', 'makecache'],
    install: ['yum', '-y', 'install'],
    remove: ['yum', '-y', 'remove'],
    installed: rpm,
    group: (name: string) => `@${name}`,
  },
  zypper: {
    refresh: ['zypper', '--non-interactive', 'refresh'],
    install: ['zypper', '--non-interactive', 'install'],
    remove: ['zypper', '--non-interactive', 'remove'],
    installed: rpm,
    group: (name: string) => `pattern:${name}`,
  },
} as const satisfies Record<string, Manager>;

export type PackageManager = keyof typeof managers;
const names = Object.keys(managers) as PackageManager[];

/** Prints the name of the first package manager that the node has. */
export const findManager = `for m in ${names.join(' ')}; do command -v "$m" > /dev/null 2>&1 && { echo "$m"; break; }; done`;

export const managerNamed = (text: string | undefined): PackageManager | undefined =>
  names.find((name) => name === text);

/** The command that carries out the steps; the first that fails ends it. */
export function packageCommand(name: PackageManager, steps: readonly PackageStep[]): string {
  const manager: Manager = managers[name];
  const commands = steps.map((step) => {
    const parts = [
      ...removal(manager, step.removeBefore),
      ...(step.install.length > 0 ? [commandLine([...manager.install, '--', ...words(manager, step.install)])] : []),
      ...removal(manager, step.removeAfter),
    ];
    return `( ${withEnvironment(step.environment, parts.join(' && '))} )`;
  });
  return withEnvironment(
    { DEBIAN_FRONTEND: 'noninteractive' },
    [commandLine(manager.refresh), ...commands].join(' && '),
  );
}

const words = ({ group }: Manager, packages: readonly string[]): string[] =>
  packages.map((each) => (each.startsWith('@') ? group(each.slice(1)) : each));

function removal({ installed, remove }: Manager, packages: readonly string[]): string[] {
  if (packages.length === 0) return [];
  const each = `if ${installed} > /dev/null 2>&1; then ${commandLine(remove)} -- "$p" || exit; fi`;
  return [`for p in ${packages.map(quoteWord).join(' ')}; do ${each}; done`];
}
