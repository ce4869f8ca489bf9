import type { Medium } from './medium.ts';
import type { Recogniser, Release } from './release.ts';
import { archNamed, shortVersion, versionPattern } from './release.ts';
import { readTreeInfo, type TreeInfo } from './tree-info.ts';

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
export const redhat: Recogniser = {
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
