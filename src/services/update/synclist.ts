import { Fault } from '../../core/errors.ts';

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

export interface Synclist {
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
    throw new Fault('invalid', `${where}: below ${clause}: stand names of scripts, not what goes where.`);
  }
  return line.split(/\s+/).map((path) => {
    if (clause === 'EXECUTE' && !path.endsWith('.post')) {
      throw new Fault('invalid', `${where}: ${path} does not end in .post, so nobody knows which file it is run for.`);
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
    throw new Fault('invalid', `${where}: behind the arrow must stand one path; it is ${JSON.stringify(destination)}.`);
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
