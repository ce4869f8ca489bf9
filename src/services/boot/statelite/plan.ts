import { Fault } from '../../../core/errors.ts';
import { isEnabled, type Row, tableNamed } from '../../../database/tables.ts';
import { type EffectiveReader, listItems } from '../../../objects/effective.ts';
import type { NodeImage } from '../../update/node-image.ts';
import { encodedWord } from '../script-words.ts';
import { fileWay, type FileWay } from './file-options.ts';
import { readSource, type Source } from './source.ts';

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
    throw new Fault('invalid', `${where}: what is in ${taken.join(', ')} is made anew at each boot.`);
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
