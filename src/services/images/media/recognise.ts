import { Fault } from '../../../core/errors.ts';
import { debian } from './debian.ts';
import type { Medium } from './medium.ts';
import { redhat } from './redhat.ts';
import { archNamed, type Family, knownArchs, type Release, versionPattern } from './release.ts';
import { suse } from './suse.ts';

const recognisers = [debian, redhat, suse];

/** The names that operating systems begin with, and where their packages come from. */
const families: Readonly<Record<string, Family>> = {
  debian: 'debian',
  ubuntu: 'ubuntu',
  rhels: 'redhat',
  rhelhpc: 'redhat',
  rocky: 'redhat',
  alma: 'redhat',
  'centos-stream': 'redhat',
  centos: 'redhat',
  ol: 'redhat',
  fedora: 'redhat',
  sles: 'suse',
  leap: 'suse',
};

/** What the caller says of a medium. */
export interface Said {
  /** `rocky9.6` */
  readonly name?: string | undefined;
  readonly arch?: string | undefined;
}

/** What is on the medium, by its own files; what the caller says goes before. */
export function recogniseMedium(medium: Medium, { name, arch }: Said): Release {
  const found = recognisers.flatMap((each) => each.recognise(medium) ?? []);
  const given = name === undefined ? undefined : parseName(name);
  const seen = given ? (found.find(({ family }) => family === given.family) ?? found[0]) : onlyOne(medium, found);
  if (arch !== undefined && seen && seen.arch !== arch)
    throw new Fault('invalid', `${medium.iso.name} is for ${seen.arch}, not for ${arch}.`);
  const base = given ?? seen;
  const actualArch = arch ?? seen?.arch;
  if (!base) throw unknownMedium(medium);
  if (actualArch === undefined)
    throw new Fault(
      'invalid',
      `${medium.iso.name} does not tell its architecture: give -a, one of ${knownArchs.join(', ')}.`,
    );
  return { family: base.family, base: base.base, version: base.version, arch: actualArch, disc: seen?.disc ?? 1 };
}

export const osName = ({ base, version }: Pick<Release, 'base' | 'version'>): string => base + version;

/** A name of an operating system as the caller gives it. */
export function parseName(name: string): Pick<Release, 'family' | 'base' | 'version'> {
  const [, base = '', version = ''] = /^([a-z-]{2,20}?)(\d[\d.]*)$/.exec(name) ?? [];
  if (!Object.hasOwn(families, base) || !versionPattern.test(version)) {
    throw new Fault(
      'invalid',
      `"${name}" is not the name of an operating system: give one of ${Object.keys(families).join(', ')} and a version, ` +
        'such as rocky9.6.',
    );
  }
  return { family: families[base]!, base, version };
}

/** Whether a name begins as that of an operating system does: `rocky9.6-test`. */
export const namesOs = (name: string): boolean =>
  Object.keys(families).some((base) => name.startsWith(base) && /^\d[\w.+-]*$/.test(name.slice(base.length)));

export function checkArch(arch: string): string {
  const known = archNamed(arch);
  if (known === undefined)
    throw new Fault('invalid', `"${arch}" is not an architecture: give one of ${knownArchs.join(', ')}.`);
  return known;
}

function onlyOne(medium: Medium, found: readonly Release[]): Release | undefined {
  const [first, second] = found;
  if (first && second) {
    throw new Fault(
      'invalid',
      `${medium.iso.name} says that it is ${osName(first)} and that it is ${osName(second)}: give -n with the one it is.`,
    );
  }
  return first;
}

function unknownMedium(medium: Medium): Fault {
  const { names, label } = medium.contents.volume;
  const short =
    names.kind === 'plain'
      ? ' It has neither Rock Ridge nor Joliet names, so its files are not called as they should be.'
      : '';
  return new Fault('invalid', [
    `${medium.iso.name} (volume "${label.replaceAll(/[^\w .-]/g, '?')}") is not a known install medium.${short}`,
    `Looked for ${recognisers.map(({ looksFor }) => looksFor).join('; ')}. If you know what it is, give -n and -a.`,
  ]);
}
