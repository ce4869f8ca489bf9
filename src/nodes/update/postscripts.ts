import { mkdirSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { writeFileAtomically } from '../../core/files.ts';
import { home } from '../../core/home.ts';
import { tableNamed } from '../../database/tables.ts';
import { listItems } from '../../core/list-items.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { defaultScripts } from '../../objects/node-attributes.ts';
import { imageOf } from '../../objects/node-image.ts';

const shipped = join(home, 'share/postscripts');
const mark = '# Shipped with muster';

/** Puts the scripts that lists of the reference system count on into the directory of the scripts. What the site has there stays. */
export function placeStockScripts(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(shipped)) {
    const text = readFileSync(join(shipped, name), 'utf8');
    const there = textOf(join(directory, name));
    if (there === undefined || (there !== text && there.includes(mark)))
      writeFileAtomically(join(directory, name), text, 0o755);
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    // Whatever it is, it is not ours.
    return '';
  }
}

type ScriptType = 'postscript' | 'postbootscript';

export interface Postscript {
  readonly type: ScriptType;
  /** As it was asked for, with its arguments. */
  readonly text: string;
  /** Its path below the directory of postscripts. */
  readonly name: string;
  readonly args: readonly string[];
}

const postscripts = tableNamed('postscripts');
const columns: readonly (readonly [column: string, type: ScriptType])[] = [
  ['postscripts', 'postscript'],
  ['postbootscripts', 'postbootscript'],
];

/** The scripts of a node in their order: those of all nodes, of its image, its own; then the same of those that run after a boot. */
export function scriptsOf(reader: EffectiveReader, node: string): Postscript[] {
  const image = imageOf(reader, node);
  const everybody = defaultScripts(reader.snapshot);
  const own = reader.row(postscripts, node);
  return columns.flatMap(([column, type]) => {
    const lists = [everybody?.[column], image.attribute(column), own?.[column]];
    const texts = lists.flatMap((list) => listItems(list ?? ''));
    return [...new Set(texts)].map((text) => parsePostscript(text, type));
  });
}

/** A script and its arguments as a list names them; quotes keep blanks together. */
export function parsePostscript(text: string, type: ScriptType = 'postscript'): Postscript {
  const [name = '', ...args] = words(text);
  return { type, text: text.trim(), name, args };
}

function words(text: string): string[] {
  const found: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (const character of text) {
    if (quote !== '') {
      if (character === quote) quote = '';
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else word = (word ?? '') + character;
  }
  if (quote !== '')
    throw new Fault('invalid', `The postscript ${JSON.stringify(text)} has a quote that is not closed.`);
  return word === undefined ? found : [...found, word];
}

export const missingScript = (name: string): string => `The postscript ${name} does not exist.`;

/** The real path of the directory whose scripts are run on nodes; undefined if there is none. */
export function scriptDirectory(directory: string): string | undefined {
  try {
    const path = realpathSync(directory);
    return statSync(path).isDirectory() ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a script of that name is in the directory. */
export function hasScript(path: string | undefined, name: string): boolean {
  if (path === undefined || name === '' || name.includes('\0') || name.startsWith('/')) return false;
  // What leads back here need not do so on a node.
  if (name.split('/').includes('..')) return false;
  try {
    const file = realpathSync(join(path, name));
    return file.startsWith(path + sep) && statSync(file).isFile();
  } catch {
    return false;
  }
}
