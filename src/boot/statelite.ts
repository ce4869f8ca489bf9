import { isIP } from 'node:net';
import { Fault } from '../core/errors.ts';
import { isEnabled, type Row, tableNamed, tables } from '../database/tables.ts';
import { listItems } from '../core/list-items.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import type { NodeImage } from '../objects/node-image.ts';
import { encodedWord } from './scripts/words.ts';

const stateTable = tableNamed('statelite');

interface LiteFile extends FileWay {
  /** Absolute, without a slash at its end. */
  readonly path: string;
  readonly isDirectory: boolean;
}

/** What a node of a statelite image does with its root before it starts. */
export interface StatelitePlan {
  readonly node: string;
  /** Directories that files are looked for in, the first first. */
  readonly trees: readonly Source[];
  /** What persists; absent: nothing does. */
  readonly state: Source | undefined;
  /** Those above others come first. */
  readonly files: readonly LiteFile[];
}

/** A Fault says which row cannot be followed. `server` is muster as the node reaches it. */
export function statelitePlan(reader: EffectiveReader, node: string, image: NodeImage, server: string): StatelitePlan {
  const files = filesOf(reader, image);
  const trees = treesOf(reader, image).map(({ directory = '', mntopts, priority }) =>
    readSource(reader, node, server, { text: directory, mntopts, where: `litetree ${priority}` }),
  );
  const disk = trees.findIndex(({ kind }) => kind === 'disk');
  if (disk >= 0) throw new Fault('invalid', 'A directory of litetree is a disk of the node; name SERVER:/PATH.');
  const { statemnt, mntopts } = reader.row(stateTable, node) ?? {};
  const state =
    statemnt === undefined
      ? undefined
      : readSource(reader, node, server, { text: statemnt, mntopts, where: `statelite ${node}` });
  const kept = files.find(({ content }) => content === 'state');
  if (kept && !state)
    throw new Fault(
      'invalid',
      `The file ${kept.path} of image ${image.name} is persistent (litefile), and the table statelite does not say where (statemnt of ${node}).`,
    );
  const fixed = files.find(({ content }) => content === 'tree');
  if (fixed && trees.length === 0)
    throw new Fault(
      'invalid',
      `The file ${fixed.path} of image ${image.name} is ro (litefile), and the table litetree names no directory that it is in.`,
    );
  return { node, trees, state, files };
}

/** How well a row's image fits: by name, by group, as all images; 0: it does not. */
function fit(row: Row, image: NodeImage): number {
  const named = row['image'] ?? '';
  if (named === image.name) return 3;
  if (listItems(image.attribute('groups')).includes(named)) return 2;
  return named === '' || named === 'ALL' ? 1 : 0;
}

const rowsFor = ({ snapshot }: EffectiveReader, table: string, image: NodeImage): Row[] =>
  [...snapshot.rows(table).values()].filter((row) => isEnabled(row) && fit(row, image) > 0);

const treesOf = (reader: EffectiveReader, image: NodeImage): Row[] =>
  rowsFor(reader, 'litetree', image).sort((a, b) => Number(a['priority']) - Number(b['priority']));

function filesOf(reader: EffectiveReader, image: NodeImage): LiteFile[] {
  const best = new Map<string, { readonly rank: number; readonly file: LiteFile }>();
  for (const row of rowsFor(reader, 'litefile', image)) {
    const file = liteFile(row);
    const rank = fit(row, image);
    if (rank > (best.get(file.path)?.rank ?? 0)) best.set(file.path, { rank, file });
  }
  const files = [...best.values()].map(({ file }) => file).sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const link of files.filter(({ place }) => place === 'link')) {
    const below = files.find(({ path }) => path.startsWith(`${link.path}/`));
    if (below)
      throw new Fault(
        'invalid',
        `The table litefile has ${below.path} below ${link.path}, which is a link; leave out one of them, or the option link.`,
      );
  }
  return files;
}

/** Directories that the kernel fills, and where statelite has its own things. */
const taken = ['/proc', '/sys', '/dev', '/run', '/.statelite'];

function liteFile({ image = '', file = '', options }: Row): LiteFile {
  const where = `litefile ${image} ${file}`;
  const parts = file.split('/').filter((part) => part !== '' && part !== '.');
  const path = `/${parts.join('/')}`;
  if (!/^\/[ -~]+$/.test(file) || parts.length === 0 || parts.includes('..'))
    throw new Fault('invalid', `${where}: a file is a path from the root, and a directory ends with a slash.`);
  if (taken.some((top) => path === top || path.startsWith(`${top}/`)))
    throw new Fault('invalid', `${where}: what is in ${taken.join(', ')} is made again at each boot.`);
  const way = fileWay(options, where);
  const isDirectory = file.endsWith('/');
  if (isDirectory && way.content === 'joined')
    throw new Fault('invalid', `${where}: con is for files, and this is a directory (it ends with a slash).`);
  return { ...way, path, isDirectory };
}

/** As the RAM disk reads it: a line of words each, signs other than the plain ones percent-encoded, `-` for nothing. */
export function planText({ node, trees, state, files }: StatelitePlan): string {
  const lines = [
    ...(state ? [['state', ...sourceWords(state), node]] : []),
    ...trees.map((tree) => ['tree', ...sourceWords(tree)]),
    ...files.map(({ path, isDirectory, place, content }) => [isDirectory ? 'directory' : 'file', place, content, path]),
  ];
  return lines.map((words) => `${words.map((word) => (word === '' ? '-' : encodedWord(word))).join(' ')}\n`).join('');
}

const sourceWords = (source: Source): string[] =>
  source.kind === 'disk'
    ? ['disk', source.device, '', source.options]
    : ['nfs', source.server, source.path, source.options];

/** What the options of a row of `litefile` come to. */
export interface FileWay {
  /** `bind`: mounted over the path; `link`: the path is a link to it. */
  readonly place: 'bind' | 'link';
  /**
   * `memory`: a copy that ends with the boot. `state`: kept in the node's state. `tree`: what is in a litetree directory itself, read-only.
   * `joined`: the image's file and those of all litetree directories one after another, in memory.
   */
  readonly content: 'memory' | 'state' | 'tree' | 'joined';
}

const contents: Readonly<Record<string, FileWay['content']>> = {
  tmpfs: 'memory',
  persistent: 'state',
  ro: 'tree',
  con: 'joined',
};
/** Words that say where it is put; `rw` says nothing that the others do not. */
const places = new Set(['bind', 'link', 'rw']);

/** Reads `options` of a row; none are `tmpfs`. `where` names the row. */
export function fileWay(options: string | undefined, where: string): FileWay {
  const words = new Set((options ?? '').split(',').flatMap((word) => word.trim().toLowerCase() || []));
  for (const word of words)
    if (!places.has(word) && !Object.hasOwn(contents, word))
      throw new Fault(
        'invalid',
        `${where}: there is no option ${JSON.stringify(word)}; there are tmpfs (or rw), persistent, ro and con, each also with link or bind.${
          word === 'localdisk' ? ' Files on a disk of the node are persistent, with the disk as statemnt.' : ''
        }`,
      );
  const named = Object.keys(contents).filter((word) => words.has(word));
  // What is joined is in memory anyway.
  const [first = 'tmpfs', second] = words.has('con') ? named.filter((word) => word !== 'tmpfs') : named;
  const contrary = second ?? (first === 'ro' && words.has('rw') ? 'rw' : undefined);
  if (contrary !== undefined) throw contradiction(first, contrary, where);
  if (words.has('link') && words.has('bind')) throw contradiction('link', 'bind', where);
  return { place: words.has('link') ? 'link' : 'bind', content: contents[first]! };
}

const contradiction = (one: string, other: string, where: string): Fault =>
  new Fault('invalid', `${where}: the options ${one} and ${other} contradict each other; leave one of them out.`);

/** Where files come from or are kept. */
type Source =
  | { readonly kind: 'nfs'; readonly server: string; readonly path: string; readonly options: string }
  | { readonly kind: 'disk'; readonly device: string; readonly options: string };

interface SourceText {
  readonly text: string;
  readonly mntopts: string | undefined;
  /** Names the row. */
  readonly where: string;
}

const resourceTable = tableNamed('noderes');
const hostsTable = tableNamed('hosts');

/**
 * Reads `SERVER:/PATH`, `/PATH` on the node's server of files, and `/dev/NAME`, `LABEL=...` or `UUID=...` of a disk of the node.
 * `server` is muster as the node reaches it.
 */
function readSource(reader: EffectiveReader, node: string, server: string, source: SourceText): Source {
  const { mntopts: options = '', where } = source;
  if (!/^[A-Za-z0-9_.,:=+/-]*$/.test(options))
    throw new Fault(
      'invalid',
      `${where}: the mount options ${JSON.stringify(options)} contain a character that no mount option has.`,
    );
  const text = expanded(reader, node, source);
  if (/^(\/dev\/[a-z][A-Za-z0-9]*|(LABEL|UUID)=[A-Za-z0-9_.:-]+)$/.test(text))
    return { kind: 'disk', device: text, options };
  const [, named, path] = /^(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):)?(\/[ -~]*)$/.exec(text) ?? [];
  if (path === undefined || path.split('/').includes('..') || text.startsWith('/dev/'))
    throw new Fault(
      'invalid',
      `${where}: ${JSON.stringify(text)} is not a location: write SERVER:/PATH, /PATH (on the node's nfsserver), /dev/NAME, LABEL=NAME or UUID=NUMBER.`,
    );
  const own = reader.row(resourceTable, node)?.['nfsserver'] ?? server;
  const host = (named ?? own).replaceAll(/[[\]]/g, '');
  return { kind: 'nfs', server: addressOf(reader, host), path: path.replaceAll(/\/{2,}/g, '/'), options };
}

/** A defined node by its address: a machine that boots may know no name server. */
function addressOf(reader: EffectiveReader, host: string): string {
  const ip = reader.row(hostsTable, host)?.['ip'];
  return ip !== undefined && isIP(ip) ? ip : host;
}

/** `$node` and `$TABLE.COLUMN` of the node. */
function expanded(reader: EffectiveReader, node: string, { text, where }: SourceText): string {
  if (/#(CMD|TABLE|ENV)/i.test(text))
    throw new Fault(
      'invalid',
      `${where}: ${JSON.stringify(text)}: commands are not run; $node and $TABLE.COLUMN are known.`,
    );
  return text.replaceAll(/\$([A-Za-z]+)(?:\.([A-Za-z]+))?/g, (variable, name: string, column?: string) => {
    if (name.toLowerCase() === 'node' && column === undefined) return node;
    const table = tables.get(name);
    if (table?.nodeColumn === undefined || column === undefined || !table.columns.includes(column))
      throw new Fault('invalid', `${where}: ${variable} is not known; write $node or $TABLE.COLUMN.`);
    if (table.secret.has(column)) throw new Fault('invalid', `${where}: ${variable} is a secret.`);
    const value = reader.row(table, node)?.[column];
    if (!value) throw new Fault('invalid', `${where}: ${variable} has no value for the node ${node}.`);
    return value;
  });
}
