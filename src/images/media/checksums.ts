import { blockSize, type IsoFile } from './iso/iso-file.ts';
import { applicationUse } from './iso/volume.ts';
import type { Medium } from './medium.ts';
import { readTreeInfo } from './recognise.ts';

/** The MD5 sum of a whole medium that its makers have put into it, as those of RHEL and Fedora do (isomd5sum). */
export interface WholeSum {
  readonly digest: string;
  /** It covers the medium up to here; the bytes of `blank` count as blanks, since it stands in them itself. */
  readonly length: number;
  readonly blank: { readonly at: number; readonly length: number };
}

export function wholeSumOf(iso: IsoFile, blocks: number): WholeSum | undefined {
  const text = iso.read(applicationUse.at, applicationUse.length, 'the volume descriptor').toString('latin1');
  const [, digest, skipped] = /ISO MD5SUM = ([0-9a-f]{32});SKIPSECTORS = (\d{1,4});/.exec(text) ?? [];
  if (digest === undefined || skipped === undefined) return undefined;
  const length = (blocks - Number(skipped)) * blockSize;
  if (length <= applicationUse.at || length > iso.size) throw iso.truncated('what its MD5 sum covers');
  return { digest, length, blank: applicationUse };
}

export type Algorithm = 'md5' | 'sha1' | 'sha256' | 'sha512';

export interface Checksum {
  readonly algorithm: Algorithm;
  readonly digest: string;
}

/** What a medium says of its own files. */
export interface MediumChecksums {
  readonly ofFiles: ReadonlyMap<string, Checksum>;
  /** The lists they come from. */
  readonly lists: readonly string[];
  /** Files that the lists name and the medium does not have. */
  readonly absent: number;
}

const byLength: Readonly<Record<number, Algorithm>> = { 32: 'md5', 40: 'sha1', 64: 'sha256', 128: 'sha512' };

/** Lists as md5sum and its relatives write them; the strongest last, since the last counts. */
const listNames = ['md5sum.txt', 'MD5SUMS', 'SHA1SUMS', 'CHECKSUMS', 'SHA256SUMS', 'sha256sum.txt', 'SHA512SUMS'];

export function mediumChecksums(medium: Medium): MediumChecksums {
  const sources = [
    ['.treeinfo', treeInfoSums(medium)],
    ['content', contentSums(medium)],
    ...listNames.map((name) => [name, sumLines(medium.list(name) ?? '')] as const),
  ] as const;
  const ofFiles = new Map<string, Checksum>();
  const lists: string[] = [];
  const absent = new Set<string>();
  const links = new Set(medium.contents.links.map(({ path }) => path));
  for (const [name, sums] of sources) {
    let hasAny = false;
    for (const [path, checksum] of sums) {
      hasAny = true;
      if (medium.file(path)) ofFiles.set(path, checksum);
      else if (!links.has(path)) absent.add(path);
    }
    if (hasAny) lists.push(name);
  }
  return { ofFiles, lists, absent: absent.size };
}

type Sums = Iterable<readonly [path: string, checksum: Checksum]>;

/** `DIGEST  ./path` or `DIGEST *path`; what else is in such a file is no sum. */
function* sumLines(text: string): Sums {
  for (const line of text.split('\n')) {
    const [, digest, path] = /^([0-9a-fA-F]{32,128}) [ *](?:\.\/)?(.+)$/.exec(line.trimEnd()) ?? [];
    const checksum = digest === undefined ? undefined : checksumOf(digest);
    if (checksum && path !== undefined) yield [path, checksum];
  }
}

/** `images/install.img = sha256:DIGEST` */
function* treeInfoSums(medium: Medium): Sums {
  for (const [path, value] of readTreeInfo(medium)?.get('checksums') ?? []) {
    const checksum = checksumOf(value.slice(value.indexOf(':') + 1));
    if (checksum && value.startsWith(`${checksum.algorithm}:`)) yield [path, checksum];
  }
}

/** `HASH SHA256 DIGEST  path`, and META for what lies in the directory of descriptions. */
function* contentSums(medium: Medium): Sums {
  for (const line of (medium.list('content') ?? '').split('\n')) {
    const [, kind, digest, path] = /^(HASH|META|KEY) SHA\d+ ([0-9a-f]{40,128}) {1,2}(\S.*)$/.exec(line.trimEnd()) ?? [];
    const checksum = digest === undefined ? undefined : checksumOf(digest);
    if (checksum && path !== undefined) yield [kind === 'META' ? `suse/setup/descr/${path}` : path, checksum];
  }
}

function checksumOf(digest: string): Checksum | undefined {
  const algorithm = /^[0-9a-fA-F]+$/.test(digest) ? byLength[digest.length] : undefined;
  return algorithm && { algorithm, digest: digest.toLowerCase() };
}
