import { Fault } from '../../core/errors.ts';
import {
  archNamed,
  type Family,
  knownArchs,
  type Medium,
  type Recogniser,
  type Release,
  shortVersion,
  versionPattern,
} from './medium.ts';

/** Sections and their values. */
type TreeInfo = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** `.treeinfo`, in the way of an INI file: `[section]`, `name = value`. */
export function readTreeInfo(medium: Medium): TreeInfo | undefined {
  const text = medium.marker('.treeinfo');
  if (text === undefined) return undefined;
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    const equals = trimmed.indexOf('=');
    if (trimmed.startsWith('[') && trimmed.endsWith(']')) sections.set(trimmed.slice(1, -1), (section = new Map()));
    else if (equals > 0 && !trimmed.startsWith(';') && !trimmed.startsWith('#'))
      section?.set(trimmed.slice(0, equals).trim(), trimmed.slice(equals + 1).trim());
  }
  return sections;
}

const info = '.disk/info';

// Debian GNU/Linux 12.12.0 "Bookworm" - Official amd64 DVD Binary-2 with firmware 20250906-10:22
const debianLine = /^Debian GNU\/Linux (\d{1,4}(?:\.\d{1,4}){0,2}) "[A-Za-z ]{1,40}" - ([\w .:/-]{1,200})$/;
// Ubuntu-Server 24.04.3 LTS "Noble Numbat" - Release amd64 (20250805.1)
const ubuntuLine =
  /^Ubuntu(?:-Server)? (\d{1,2}\.\d{2}(?:\.\d{1,2})?)(?: LTS)? "[A-Za-z ]{1,40}" - ([\w .:/()-]{1,200})$/;

/** Debian and Ubuntu say in one line what a medium is. */
const debian: Recogniser = {
  looksFor: `/${info} that begins with "Debian GNU/Linux VERSION", "Ubuntu VERSION" or "Ubuntu-Server VERSION" (Debian, Ubuntu)`,
  recognise(medium): Release | undefined {
    const line = medium.marker(info)?.split('\n', 1)[0]?.trim();
    if (line === undefined) return undefined;
    const [, debianVersion, debianRest] = debianLine.exec(line) ?? [];
    if (debianVersion !== undefined && debianRest !== undefined)
      return released('debian', shortVersion(debianVersion), debianRest);
    const [, ubuntuVersion, ubuntuRest] = ubuntuLine.exec(line) ?? [];
    if (ubuntuVersion !== undefined && ubuntuRest !== undefined) return released('ubuntu', ubuntuVersion, ubuntuRest);
    return undefined;
  },
};

function released(family: 'debian' | 'ubuntu', version: string, rest: string): Release | undefined {
  const arch = rest
    .split(/[ /]/)
    .map(archNamed)
    .find((each) => each !== undefined);
  if (arch === undefined) return undefined;
  const disc = Number(/\bBinary-(\d{1,2})\b/.exec(rest)?.[1] ?? 1);
  return { family, base: family, version, arch, disc: Math.max(1, disc) };
}

/** What they call themselves, and what operating systems are called here. */
const bases: Readonly<Record<string, string>> = {
  'Red Hat Enterprise Linux': 'rhels',
  'Red Hat Enterprise Linux Server': 'rhels',
  'Rocky Linux': 'rocky',
  AlmaLinux: 'alma',
  'CentOS Stream': 'centos-stream',
  'CentOS Linux': 'centos',
  CentOS: 'centos',
  'Oracle Linux': 'ol',
  'Oracle Linux Server': 'ol',
  Fedora: 'fedora',
};

const nameAndVersion = /^([A-Za-z][A-Za-z ]{1,40}[A-Za-z]) (\d{1,4}(?:\.\d{1,4}){0,2})$/;

/** Media of the Anaconda installer. */
const redhat: Recogniser = {
  looksFor: `/.treeinfo or /.discinfo of ${Object.keys(bases).join(', ')} (RHEL and its relatives, Fedora)`,
  recognise(medium): Release | undefined {
    const disc = discInfo(medium);
    const tree = readTreeInfo(medium);
    const found = (tree && byTreeInfo(tree)) ?? byDescription(disc);
    const arch = archNamed(tree?.get('general')?.get('arch') ?? tree?.get('tree')?.get('arch') ?? disc?.arch ?? '');
    if (!found || arch === undefined) return undefined;
    return { family: 'redhat', ...found, arch, disc: disc?.number ?? 1 };
  },
};

interface DiscInfo {
  readonly description: string;
  readonly arch: string;
  readonly number: number;
}

/** A time, a description, an architecture and perhaps the number of the disc, a line each. */
function discInfo(medium: Medium): DiscInfo | undefined {
  const lines = medium
    .marker('.discinfo')
    ?.split('\n')
    .map((line) => line.trim());
  if (!lines || !/^\d{1,12}(\.\d{1,9})?$/.test(lines[0] ?? '')) return undefined;
  const number = /^[1-9]\d?$/.test(lines[3] ?? '') ? Number(lines[3]) : 1;
  return { description: lines[1] ?? '', arch: lines[2] ?? '', number };
}

type Named = Pick<Release, 'base' | 'version'>;

function byDescription(disc: DiscInfo | undefined): Named | undefined {
  const [, name, version] = nameAndVersion.exec(disc?.description ?? '') ?? [];
  return name === undefined || version === undefined ? undefined : named(name, version);
}

function byTreeInfo(tree: TreeInfo): Named | undefined {
  const general = tree.get('general');
  const release = tree.get('release');
  const found = named(
    release?.get('name') ?? general?.get('family') ?? '',
    release?.get('version') ?? general?.get('version') ?? '',
  );
  const isForComputing = found?.base === 'rhels' && general?.get('variant') === 'ComputeNode';
  return isForComputing ? { ...found, base: 'rhelhpc' } : found;
}

function named(name: string, version: string): Named | undefined {
  if (!Object.hasOwn(bases, name) || !versionPattern.test(version)) return undefined;
  return { base: bases[name]!, version: shortVersion(version) };
}

const mostDiscs = 9;

// SUSE - SLE-15-SP6-Full-x86_64-Build680.2-Media1
const enterprise = /\bSLE[SD]?-(\d{1,2})(?:-SP(\d{1,2}))?-([\w.-]{1,100})$/;
// openSUSE - openSUSE-Leap-15.6-DVD-x86_64-Build710.3-Media
const leap = /\bopenSUSE-Leap-(\d{1,2}\.\d{1,2})-([\w.-]{1,100})$/;
// SLES15-SP6 15.6-0, openSUSE-Leap 15.6-1
const product = /^\/ (SLES|openSUSE-Leap)\S{0,40} (\d{1,2}(?:\.\d{1,2})?)-\S{1,20}$/;

/** Media of SUSE say in media.N what they are. */
const suse: Recogniser = {
  looksFor: '/media.N/media or /media.N/products of SLE and openSUSE-Leap, or /content (SLES, openSUSE Leap)',
  recognise(medium): Release | undefined {
    for (let disc = 1; disc <= mostDiscs; disc++) {
      const lines = medium
        .marker(`media.${disc}/media`)
        ?.split('\n')
        .map((line) => line.trim());
      if (!lines) continue;
      const found = lines.slice(0, 2).flatMap((line) => byMedia(line) ?? [])[0] ?? byProduct(medium, lines, disc);
      return found && { family: 'suse', ...found, disc };
    }
    const found = byContent(medium);
    return found && { family: 'suse', ...found, disc: 1 };
  },
};

type Found = Pick<Release, 'base' | 'version' | 'arch'>;

function byMedia(line: string): Found | undefined {
  const [, major, pack, rest] = enterprise.exec(line) ?? [];
  if (major !== undefined && rest !== undefined)
    return complete('sles', pack === undefined ? major : `${major}.${pack}`, rest);
  const [, version, leapRest] = leap.exec(line) ?? [];
  return version === undefined || leapRest === undefined ? undefined : complete('leap', version, leapRest);
}

/** Where the name of the medium does not say the release, its product does. */
function byProduct(medium: Medium, lines: readonly string[], disc: number): Found | undefined {
  const line = medium.marker(`media.${disc}/products`)?.split('\n', 1)[0]?.trim() ?? '';
  const [, name, version] = product.exec(line) ?? [];
  if (name === undefined || version === undefined) return undefined;
  return complete(name === 'SLES' ? 'sles' : 'leap', version, lines.slice(0, 2).join('-'));
}

/** Releases before 12: names and values, a line each. */
function byContent(medium: Medium): Found | undefined {
  const values = new Map(
    (medium.marker('content') ?? '')
      .split('\n')
      .map((line) => [line.split(/\s/, 1)[0]!, line.replace(/^\S+\s+/, '').trim()]),
  );
  const name = values.get('NAME') ?? values.get('PRODUCT') ?? '';
  const version = values.get('VERSION') ?? '';
  if (!/^(SUSE_SLES|SLES)$/.test(name) || !/^\d{1,2}(\.\d{1,2})?$/.test(version)) return undefined;
  return complete('sles', version, values.get('BASEARCHS') ?? values.get('ARCH') ?? '');
}

function complete(base: string, version: string, rest: string): Found | undefined {
  const arch = rest
    .split(/[-\s]/)
    .map(archNamed)
    .find((each) => each !== undefined);
  return arch === undefined ? undefined : { base, version, arch };
}

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
      `${medium.iso.name} does not name its architecture: give -a, one of ${knownArchs.join(', ')}.`,
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
      ? ' It has neither Rock Ridge nor Joliet names, so its files do not have the names that they should have.'
      : '';
  return new Fault('invalid', [
    `${medium.iso.name} (volume "${label.replaceAll(/[^\w .-]/g, '?')}") is not a known install medium.${short}`,
    `Looked for ${recognisers.map(({ looksFor }) => looksFor).join('; ')}. If you know what it is, give -n and -a.`,
  ]);
}
