import { lstatSync } from 'node:fs';
import type { Work } from '../../work/index.ts';
import type { InstalledPackage } from '../manifest.ts';
import { inTree, readInTree } from './tree-path.ts';

const rpmDatabases = ['/usr/lib/sysimage/rpm', '/var/lib/rpm'];

/** The packages that are installed in a tree, by name; none if it has no database of packages that we know. */
export async function installedIn(task: Work, tree: string): Promise<InstalledPackage[]> {
  const status = await readInTree(tree, '/var/lib/dpkg/status');
  const found = status ? ofDpkg(status.toString()) : await ofRpm(task, tree);
  return found.sort((a, b) => compare(a.name, b.name) || compare(a.arch, b.arch));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function ofDpkg(status: string): InstalledPackage[] {
  return status.split(/\n\n+/).flatMap((paragraph) => {
    const field = (name: string): string => fieldOf(paragraph, name);
    const [name, version, arch] = [field('Package'), field('Version'), field('Architecture')];
    return name !== '' && field('Status').endsWith(' installed') ? { name, version, arch } : [];
  });
}

function fieldOf(paragraph: string, name: string): string {
  const line = paragraph.split('\n').find((each) => each.startsWith(`${name}: `));
  return line === undefined ? '' : line.slice(name.length + 2).trim();
}

async function ofRpm(task: Work, tree: string): Promise<InstalledPackage[]> {
  const database = rpmDatabases.find((path) => lstatSync(inTree(tree, path), { throwIfNoEntry: false })?.isDirectory());
  if (database === undefined) return [];
  const lines: string[] = [];
  const format = '%{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\n';
  await task.program('rpm', ['--dbpath', inTree(tree, database), '-qa', '--qf', format], {
    output: (line) => void lines.push(line),
  });
  return lines.flatMap((line) => {
    // Where lines can be shown to people, as those of long work, a tab is a blank.
    const [name, version, arch] = line.split(/[\t ]/);
    return name && version && arch && name !== 'gpg-pubkey' ? { name, version, arch } : [];
  });
}
