import { existsSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join as joinPath } from 'node:path';
import type { Sources } from '../../access/file-sources.ts';
import { Fault, type FaultData, orFault } from '../../core/errors.ts';
import { missedFault } from '../../noderange/index.ts';
import { expandRange } from '../../objects/cluster.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { imageOf, listFiles, type NodeImage } from '../../objects/node-image.ts';
import type { CargoRoot } from '../remote/cargo.ts';
import { Findings, readList, reading, naming } from './findings.ts';

/** `sources -> destination`, perhaps for some nodes only. */
export interface SyncRule {
  /** Where it stands, for messages: the file and the line. */
  readonly where: string;
  readonly sources: readonly string[];
  /** The sources go into this directory; else the one source gets this very name. */
  readonly intoDirectory: boolean;
  readonly destination: string;
  /** The node range that it is for; undefined: all nodes. */
  readonly range: string | undefined;
}

export interface SyncScript {
  readonly where: string;
  /** A source of the same list. */
  readonly path: string;
}

interface Synclist {
  readonly copies: readonly SyncRule[];
  readonly appends: readonly SyncRule[];
  readonly merges: readonly SyncRule[];
  /** Run when the file of the same name without `.post` has changed. */
  readonly scripts: readonly SyncScript[];
  readonly scriptsAlways: readonly SyncScript[];
}

const clauses = ['EXECUTE', 'EXECUTEALWAYS', 'APPEND', 'MERGE'] as const;
type Clause = 'copy' | (typeof clauses)[number];

const clauseLine = /^([A-Z]+):\s*(.*)$/;
const ruleLine = /^(.*?)\s*->\s*(.*)$/;
const mergeable: readonly string[] = ['/etc/passwd', '/etc/shadow', '/etc/group'];

/** Reads the text of a synclist; `name` is the file's, for messages. */
export function parseSynclist(text: string, name: string): Synclist {
  const list = {
    copies: [] as SyncRule[],
    appends: [] as SyncRule[],
    merges: [] as SyncRule[],
    scripts: [] as SyncScript[],
    scriptsAlways: [] as SyncScript[],
  };
  let clause: Clause = 'copy';
  for (const [index, raw] of text.split('\n').entries()) {
    const where = `${name}, line ${index + 1}`;
    let line = raw.trim();
    const begins = clauseLine.exec(line);
    if (begins) {
      clause = knownClause(begins[1]!, where);
      line = begins[2]!;
    }
    if (line === '' || line.startsWith('#')) continue;
    if (clause === 'EXECUTE' || clause === 'EXECUTEALWAYS') {
      (clause === 'EXECUTE' ? list.scripts : list.scriptsAlways).push(...parseScripts(line, where, clause));
    } else if (clause === 'copy') list.copies.push(parseRule(line, where));
    else if (clause === 'APPEND') list.appends.push(parseJoined(line, where, clause));
    else list.merges.push(parseMerge(line, where));
  }
  return list;
}

function knownClause(word: string, where: string): Clause {
  const known = clauses.find((clause) => clause === word);
  if (known) return known;
  throw new Fault('invalid', `${where}: there is no clause ${word}:; known are ${clauses.join(', ')}.`);
}

function parseScripts(line: string, where: string, clause: Clause): SyncScript[] {
  if (line.includes('->')) {
    throw new Fault(
      'invalid',
      `${where}: below ${clause}: only names of scripts are allowed, not "source -> destination".`,
    );
  }
  return line.split(/\s+/).map((path) => {
    if (clause === 'EXECUTE' && !path.endsWith('.post')) {
      throw new Fault(
        'invalid',
        `${where}: ${path} does not end in .post, so it does not name the file that it is run for.`,
      );
    }
    if (hasWildcard(path)) throw new Fault('invalid', `${where}: ${path} must name one script, without wildcards.`);
    return { where, path: absolute(path, where) };
  });
}

function parseRule(line: string, where: string): SyncRule {
  const parts = ruleLine.exec(line);
  if (!parts) throw new Fault('invalid', `${where}: expected "source -> destination"; it is ${JSON.stringify(line)}.`);
  const sources = parts[1]!.split(/\s+/).filter((source) => source !== '');
  const { range, rest: destination } = splitRange(parts[2]!, where);
  if (sources.length === 0) throw new Fault('invalid', `${where}: there is nothing before the arrow.`);
  if (/\s/.test(destination) || destination.includes('->')) {
    throw new Fault(
      'invalid',
      `${where}: there must be one path after the arrow; it is ${JSON.stringify(destination)}.`,
    );
  }
  return {
    where,
    sources: sources.map((source) => absolute(source, where)),
    intoDirectory: destination.endsWith('/') || sources.length > 1 || hasWildcard(sources[0]!),
    destination: absolute(destination, where),
    range,
  };
}

/** A range before the destination stands in parentheses and may hold others. */
function splitRange(text: string, where: string): { readonly range: string | undefined; readonly rest: string } {
  if (!text.startsWith('(')) return { range: undefined, rest: text };
  let depth = 0;
  let end = 0;
  do {
    if (text[end] === '(') depth++;
    else if (text[end] === ')') depth--;
    end++;
  } while (depth > 0 && end < text.length);
  if (depth > 0) throw new Fault('invalid', `${where}: the parenthesis before the node range is not closed.`);
  const range = text.slice(1, end - 1).trim();
  if (range === '') throw new Fault('invalid', `${where}: the node range is empty; for all nodes leave out "()".`);
  return { range, rest: text.slice(end).trimStart() };
}

/** One file whose content goes into another. */
function parseJoined(line: string, where: string, clause: Clause): SyncRule {
  const rule = parseRule(line, where);
  if (rule.intoDirectory) {
    throw new Fault('invalid', `${where}: below ${clause}: one file goes into one file, both named in full.`);
  }
  return rule;
}

function parseMerge(line: string, where: string): SyncRule {
  const rule = parseJoined(line, where, 'MERGE');
  if (mergeable.includes(rule.destination)) return rule;
  throw new Fault('invalid', `${where}: only ${mergeable.join(', ')} can be merged, not ${rule.destination}.`);
}

function absolute(path: string, where: string): string {
  if (!path.startsWith('/')) throw new Fault('invalid', `${where}: ${path || 'a path'} must begin with a slash.`);
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(path))
    throw new Fault('invalid', `${where}: ${JSON.stringify(path)} contains a control character.`);
  if (path.split('/').includes('..')) throw new Fault('invalid', `${where}: ${path} must not go up with "..".`);
  return path === '/' ? path : path.replace(/\/+$/, '');
}

export const hasWildcard = (path: string): boolean => /[*?]/.test(path);

/** A rule whose sources may be sent. */
export interface FoundRule extends Omit<SyncRule, 'range'> {
  /** Those of the nodes at work that it is for; undefined: all. */
  readonly nodes: readonly string[] | undefined;
  /** The sources, wildcards replaced. */
  readonly roots: readonly CargoRoot[];
  /** Wildcards that nothing matches. */
  readonly idle: readonly string[];
}

interface FoundScript extends SyncScript {
  /** Where it is here, which counts only if no rule of the list brings it to the nodes. */
  readonly root: CargoRoot | FaultData;
}

export type RuleKind = 'copies' | 'appends' | 'merges';

/** A list of files that nodes shall have, as plain data. */
export interface FoundList extends Record<RuleKind, readonly FoundRule[]> {
  readonly scripts: readonly FoundScript[];
  readonly scriptsAlways: readonly FoundScript[];
}

/** What a path with `*` and `?` means, sorted; they match no dot at the beginning. `admit` refuses directories. */
async function expandWildcards(path: string, admit: (directory: string) => unknown): Promise<string[]> {
  if (!hasWildcard(path)) return [path];
  const [parent, pattern] = [dirname(path), basename(path)];
  const parents = await expandWildcards(parent, admit);
  const found: string[] = [];
  for (const directory of hasWildcard(parent) ? parents.filter(isDirectory) : parents) {
    admit(directory);
    if (hasWildcard(pattern)) {
      const names = await reading(directory, readdir(directory));
      const visible = names.filter((name) => !name.startsWith('.') || pattern.startsWith('.'));
      found.push(...visible.filter((name) => matches(name, pattern)).map((name) => joinPath(directory, name)));
    } else if (existsSync(joinPath(directory, pattern))) found.push(joinPath(directory, pattern));
  }
  return found.sort();
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** `*` any text, `?` any character. Goes back to the last star only, so it takes no more than length times length. */
export function matches(name: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let resume = 0;
  while (at < name.length) {
    if (pattern[next] === '*') {
      star = next++;
      resume = at;
    } else if (next < pattern.length && (pattern[next] === '?' || pattern[next] === name[at])) {
      next++;
      at++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[next] === '*') next++;
  return next === pattern.length;
}

/** The lists of nodes. Each is read once, however many nodes share it. */
export class SyncLists {
  /** By path. */
  readonly found = new Findings<FoundList>();
  readonly #reader: EffectiveReader;
  readonly #sources: Sources;
  readonly #nodes: ReadonlySet<string>;
  readonly #ranges = new Map<string, readonly string[]>();

  constructor(reader: EffectiveReader, sources: Sources, nodes: readonly string[]) {
    this.#reader = reader;
    this.#sources = sources;
    this.#nodes = new Set(nodes);
  }

  /** The paths of a node's lists, or the one given instead; when it resolves they are found. */
  async pathsFor(node: string, instead?: string): Promise<readonly string[]> {
    return instead === undefined ? this.pathsOf(imageOf(this.#reader, node)) : this.#findAll([instead]);
  }

  /** The paths of an image's lists, likewise. */
  async pathsOf(image: NodeImage): Promise<readonly string[]> {
    return this.#findAll(listFiles(this.#reader, image, 'synclists', 'synclist'));
  }

  async #findAll(paths: readonly string[]): Promise<readonly string[]> {
    await Promise.all(paths.map((path) => this.found.find(path, () => this.#find(path))));
    return paths;
  }

  async #find(path: string): Promise<FoundList> {
    const list = parseSynclist(await readList(this.#sources, path), path);
    const rules = (all: readonly SyncRule[]) => Promise.all(all.map((rule) => this.#rule(rule)));
    const scripts = (all: readonly SyncScript[]) => Promise.all(all.map((script) => this.#script(script)));
    return {
      copies: await rules(list.copies),
      appends: await rules(list.appends),
      merges: await rules(list.merges),
      scripts: await scripts(list.scripts),
      scriptsAlways: await scripts(list.scriptsAlways),
    };
  }

  #rule({ range, ...rule }: SyncRule): Promise<FoundRule> {
    const root = (path: string): CargoRoot => ({ path, real: this.#sources.admit(path) });
    return naming(rule.where, async () => {
      const found = await Promise.all(rule.sources.map((source) => expandWildcards(source, root)));
      const idle = rule.sources.filter((_, index) => found[index]!.length === 0);
      return { ...rule, nodes: this.#nodesIn(range), roots: found.flat().map(root), idle };
    });
  }

  async #script(script: SyncScript): Promise<FoundScript> {
    const { path } = script;
    return { ...script, root: await orFault((async () => ({ path, real: this.#sources.admit(path) }))()) };
  }

  #nodesIn(range: string | undefined): readonly string[] | undefined {
    if (range === undefined) return undefined;
    let nodes = this.#ranges.get(range);
    if (!nodes) {
      const { nodes: found, missed } = expandRange(this.#reader.snapshot, range);
      if (missed.length > 0) throw new Fault('invalid', missedFault(missed, range).message);
      nodes = found.filter((node) => this.#nodes.has(node));
      this.#ranges.set(range, nodes);
    }
    return nodes;
  }
}
