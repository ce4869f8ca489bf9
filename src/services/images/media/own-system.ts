import { readFileSync } from 'node:fs';
import { archNamed } from './release.ts';

const bases: Readonly<Record<string, string>> = {
  debian: 'debian',
  ubuntu: 'ubuntu',
  rhel: 'rhels',
  rocky: 'rocky',
  almalinux: 'alma',
  centos: 'centos-stream',
  ol: 'ol',
  fedora: 'fedora',
  sles: 'sles',
  'opensuse-leap': 'leap',
};

const nodeArchs: Readonly<Partial<Record<NodeJS.Architecture, string>>> = { x64: 'x86_64', arm64: 'aarch64' };

/** The operating system of this machine, called as media are: `debian12.12-x86_64`. */
export function ownSystem(): string | undefined {
  const release = textOf('/etc/os-release');
  const value = (name: string): string =>
    release
      .split('\n')
      .find((line) => line.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll('"', '') ?? '';
  const base = bases[value('ID')];
  // Debian tells its point release elsewhere.
  const version = base === 'debian' ? textOf('/etc/debian_version').trim() : value('VERSION_ID');
  const arch = archNamed(nodeArchs[process.arch] ?? process.arch);
  return base === undefined || arch === undefined || version === '' ? undefined : `${base}${version}-${arch}`;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Not every system has it.
    return '';
  }
}
