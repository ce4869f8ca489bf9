import { arch as processArch } from 'node:process';
import { readFileSync } from 'node:fs';
import { Fault } from '../core/errors.ts';

/** How the packages of a distribution are installed. */
export type Family = 'apt' | 'dnf' | 'zypper';

const suites: Readonly<Record<string, string>> = {
  debian10: 'buster',
  debian11: 'bullseye',
  debian12: 'bookworm',
  debian13: 'trixie',
  debian14: 'forky',
  'ubuntu18.04': 'bionic',
  'ubuntu20.04': 'focal',
  'ubuntu22.04': 'jammy',
  'ubuntu24.04': 'noble',
};

const families: readonly (readonly [RegExp, Family])[] = [
  [/^(debian|ubuntu)/, 'apt'],
  [/^(rhel|rhels|rhelhpc|rh|centos|centos-stream|rocky|alma|almalinux|ol|fedora|SL)[\d.]*$/, 'dnf'],
  [/^(sles|sle|sled|suse|opensuse|leap|tumbleweed)[\d.]*$/, 'zypper'],
];

/** `rhels9.2` is installed by dnf. */
export function familyOf(osvers: string): Family {
  const family = families.find(([pattern]) => pattern.test(osvers))?.[1];
  if (family) return family;
  throw new Fault(
    'invalid',
    `It is not known how packages of ${JSON.stringify(osvers)} are installed: osvers must begin with debian, ubuntu, rhel, centos, rocky, alma, ol, fedora, sles, opensuse or leap.`,
  );
}

/** `rhels8.6` is of platform rh, `debian12` of debian. */
export function platformOf(os: string): string {
  const letters = /^[A-Za-z]+/.exec(os)?.[0] ?? os;
  return /^rh(el|els|as|hpc)?$/.test(letters) ? 'rh' : letters;
}

/** The digits of `rhels9.2`. */
export const versionOf = (osvers: string): string => /[\d.]+$/.exec(osvers)?.[0] ?? '';

/** The 9 of `rhels9.2`; 0: none is named. */
export const majorOf = (osvers: string): number => Number.parseInt(versionOf(osvers), 10) || 0;

/** Why a release cannot be installed by its own installer; undefined: muster answers that one. */
export function installerProblem(osvers: string): string | undefined {
  const [family, major] = [familyOf(osvers), majorOf(osvers)];
  const refused = (what: string): string =>
    `${osvers} cannot be installed: ${what}. Use another release, or an image that muster builds (provmethod netboot, statelite or sysclone).`;
  if (major === 0) return undefined;
  if (family === 'dnf' && !osvers.startsWith('fedora') && major < 7)
    return refused('muster has answers for the installer of release 7 and later');
  if (family !== 'zypper') return undefined;
  if (major >= 16 && major < 42) return refused('its installer is Agama, and muster has answers for AutoYaST only');
  return major < 15 || major === 42 ? refused('muster has answers for AutoYaST of release 15') : undefined;
}

/** `debian12.5` is called bookworm in repositories. */
export function suiteOf(osvers: string): string | undefined {
  const name = /^[a-z]+/.exec(osvers)?.[0] ?? '';
  const version = versionOf(osvers);
  const length = name === 'ubuntu' ? 2 : 1;
  return suites[name + version.split('.').slice(0, length).join('.')];
}

interface Architecture {
  readonly debian: string;
  readonly node: string;
  /** e_machine of its programs. */
  readonly elf: number;
}

const architectures: Readonly<Record<string, Architecture>> = {
  x86_64: { debian: 'amd64', node: 'x64', elf: 62 },
  aarch64: { debian: 'arm64', node: 'arm64', elf: 183 },
  ppc64le: { debian: 'ppc64el', node: 'ppc64', elf: 21 },
  x86: { debian: 'i386', node: 'ia32', elf: 3 },
};

export function architecture(osarch: string): Architecture {
  const found = Object.hasOwn(architectures, osarch) ? architectures[osarch] : undefined;
  if (found) return found;
  throw new Fault(
    'invalid',
    `Images of architecture ${JSON.stringify(osarch)} cannot be built; osarch must be one of ${Object.keys(architectures).join(', ')}.`,
  );
}

/** The architecture of this machine. */
export const hostArchitecture = (): string =>
  Object.entries(architectures).find(([, { node }]) => node === processArch)?.[0] ?? processArch;

export const isNative = (osarch: string): boolean =>
  architecture(osarch).node === processArch || (osarch === 'x86' && processArch === 'x64');

/** Programs of another architecture run only where the kernel is set up for it. */
export function checkRunnable(osarch: string): void {
  if (isNative(osarch)) return;
  const name = `/proc/sys/fs/binfmt_misc/qemu-${osarch}`;
  try {
    if (readFileSync(name, 'utf8').startsWith('enabled')) return;
  } catch {}
  throw new Fault(
    'invalid',
    `Programs of ${osarch} do not run on this machine: install qemu-user-static and let the kernel know of it (${name}), or build the image on a machine of that architecture and import it.`,
  );
}
