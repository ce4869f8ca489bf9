import { existsSync, lstatSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Family } from '../../objects/distributions.ts';

/** Where packages come from. */
export type PackageSource =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string; readonly suite?: string; readonly components: readonly string[] };

const url = /^https?:\/\/[A-Za-z0-9\][._~:/?#@!$&()*+,;=%-]+$/;
const word = /^[A-Za-z0-9./][A-Za-z0-9._/+-]*$/;
// What would end a word or mean something in the files of package managers.
const plainPath = /^\/[A-Za-z0-9._/+@:~-]*$/;

/**
 * Reads `pkgdir` and its like: directories and URLs, separated by commas. Behind a URL may stand the suite and the components, as in
 * sources.list. `admit` judges directories.
 */
export function parseSources(text: string, attribute: string, admit: (path: string) => string): PackageSource[] {
  return text.split(',').flatMap((item): PackageSource | [] => {
    const [place = '', suite, ...components] = item.trim().split(/\s+/);
    if (place === '') return [];
    if (place.startsWith('/')) {
      if (suite !== undefined) throw new Fault('invalid', `${attribute}: nothing may follow the directory ${place}.`);
      const path = admit(place);
      if (!plainPath.test(path))
        throw new Fault('invalid', `${attribute}: ${path} has characters that the name of a repository cannot have.`);
      return { kind: 'directory', path };
    }
    if (!url.test(place) || !URL.canParse(place))
      throw new Fault(
        'invalid',
        `${attribute}: ${JSON.stringify(place)} is neither a full path nor an http or https URL.`,
      );
    const { username, password } = new URL(place);
    // Who may see the run or the image would read it, and nodes would get it with the list of sources.
    if (username !== '' || password !== '')
      throw new Fault(
        'invalid',
        `${attribute}: a URL with a login cannot be used; let this machine in by its address.`,
      );
    const wrong = [suite ?? 'x', ...components].find((each) => !word.test(each));
    if (wrong !== undefined)
      throw new Fault('invalid', `${attribute}: ${JSON.stringify(wrong)} is not the name of a suite or component.`);
    return { kind: 'url', url: place.replace(/\/+$/, ''), ...(suite === undefined ? {} : { suite }), components };
  });
}

/** One line of sources.list. Directories are the site's own and trusted; what comes over the network must be signed. */
export function aptLine(
  source: PackageSource,
  suite: string | undefined,
  at = source.kind === 'directory' ? source.path : '',
): string {
  if (source.kind === 'directory') {
    const release = suite === undefined ? undefined : join(source.path, 'dists', suite, 'Release');
    if (release !== undefined && existsSync(release))
      return `deb [trusted=yes] copy:${at} ${suite} ${componentsOf(release).join(' ')}`;
    if (['Packages', 'Packages.gz', 'Packages.xz'].some((name) => existsSync(join(source.path, name))))
      return `deb [trusted=yes] copy:${at} ./`;
    throw new Fault(
      'invalid',
      `${source.path} is no repository: there is neither dists/${suite ?? 'SUITE'}/Release nor a file Packages in it. Make one with: apt-ftparchive packages . > Packages`,
    );
  }
  const named = source.suite ?? suite;
  if (named === undefined)
    throw new Fault(
      'invalid',
      `The suite of ${source.url} is not known; write it after the URL, as in "${source.url} bookworm main".`,
    );
  if (named.endsWith('/')) return `deb ${source.url} ${named}`;
  const components = source.components.length > 0 ? source.components : ['main'];
  return `deb ${source.url} ${named} ${components.join(' ')}`;
}

function componentsOf(release: string): string[] {
  const line = readFileSync(release, 'utf8')
    .split('\n')
    .find((each) => each.startsWith('Components:'));
  const components = (line ?? '')
    .slice('Components:'.length)
    .trim()
    .split(/\s+/)
    .map((each) => each.slice(each.lastIndexOf('/') + 1));
  const usable = components.filter((each) => word.test(each));
  return usable.length > 0 ? usable : ['main'];
}

/** Archives of the distributions themselves; a mirror of the site need not have all that they have. */
const debianArchive = /^https?:\/\/(deb|ftp(\.[a-z]{2})?)\.debian\.org\/debian$/;
const ubuntuArchive = /^https?:\/\/(([a-z]{2}\.)?archive\.ubuntu\.com\/ubuntu|ports\.ubuntu\.com(\/ubuntu-ports)?)$/;

/** The same with updates and security updates of the archives whose suite nobody has named. */
export const withUpdates = (sources: readonly PackageSource[], suite: string | undefined): PackageSource[] =>
  sources.flatMap((source) => [source, ...updatesOf(source, suite)]);

function updatesOf(source: PackageSource, suite: string | undefined): PackageSource[] {
  if (source.kind === 'directory' || source.suite !== undefined || suite === undefined) return [];
  const { url: place, components } = source;
  const at = (where: string, named: string): PackageSource => ({ kind: 'url', url: where, suite: named, components });
  if (ubuntuArchive.test(place)) return [at(place, `${suite}-updates`), at(place, `${suite}-security`)];
  if (!debianArchive.test(place)) return [];
  const security = suite === 'buster' ? 'buster/updates' : `${suite}-security`;
  return [at(place, `${suite}-updates`), at('http://deb.debian.org/debian-security', security)];
}

/** A file for dnf and zypper that names all sources. A medium has its repositories one directory deeper. */
export function repoFile(sources: readonly PackageSource[], keys: readonly string[]): string {
  const places = sources.flatMap((source) =>
    source.kind === 'url'
      ? { base: source.url, signed: true }
      : repositoriesIn(source.path).map((path) => ({ base: `file://${path}`, signed: false })),
  );
  return places
    .map(({ base, signed }, index) => {
      const check = signed ? 1 : 0;
      const lines = [
        `[muster-${index}]`,
        `name=muster-${index}`,
        `baseurl=${base}`,
        'enabled=1',
        'autorefresh=1',
        // A repository that does not answer is an error.
        'skip_if_unavailable=0',
        `gpgcheck=${check}`,
        'repo_gpgcheck=0',
        ...(signed && keys.length > 0 ? [`gpgkey=${keys.map((key) => `file://${key}`).join(' ')}`] : []),
      ];
      return `${lines.join('\n')}\n`;
    })
    .join('\n');
}

const isRepository = (path: string): boolean =>
  existsSync(join(path, 'repodata/repomd.xml')) || existsSync(join(path, 'media.1/media'));

export function repositoriesIn(path: string): string[] {
  if (isRepository(path)) return [path];
  const inside = directoriesIn(path).filter(isRepository);
  if (inside.length > 0) return inside;
  throw new Fault(
    'invalid',
    `${path} is no repository: there is no repodata/repomd.xml in it or in a directory in it. Make one with: createrepo_c ${path}`,
  );
}

function directoriesIn(path: string): string[] {
  const isDirectory = (each: string): boolean => lstatSync(each, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isDirectory(path)) throw new Fault('invalid', `${path} is not a directory of packages.`);
  return readdirSync(path)
    .sort()
    .filter((name) => plainPath.test(`/${name}`))
    .map((name) => join(path, name))
    .filter(isDirectory);
}

/** The files that show whether a repository has changed. */
export function indexFiles(source: PackageSource, family: Family, suite: string | undefined): string[] {
  if (source.kind === 'directory') {
    const names =
      family === 'apt'
        ? [`dists/${suite}/Release`, 'Packages', 'Packages.gz', 'Packages.xz', 'Release']
        : directoriesAt(source.path).flatMap((each) => [join(each, 'repodata/repomd.xml'), join(each, 'content')]);
    return names.map((name) => join(source.path, name));
  }
  if (family !== 'apt') return [`${source.url}/repodata/repomd.xml`];
  const named = source.suite ?? suite ?? '';
  return [named.endsWith('/') ? `${source.url}/${named}InRelease` : `${source.url}/dists/${named}/InRelease`];
}

const directoriesAt = (path: string): string[] => [
  '.',
  ...directoriesIn(path).map((each) => each.slice(path.length + 1)),
];
