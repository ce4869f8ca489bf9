import type { Refused } from './errors.ts';
import type { Input } from './input.ts';

/** The server as lines name it, for instance `[mn]`. */
const tag = (server: string | undefined): string => (server === undefined ? '' : `[${server}]: `);

/** An error that a command met: `Error: [mn]: TEXT`. Errors found before a command runs have no server: `Error: TEXT`. */
export const errorLine = (text: string, server?: string): string => `Error: ${tag(server)}${text}`;

export const warningLine = (text: string, server?: string): string => `Warning: ${tag(server)}${text}`;

/** A word that xCAT's commands drop in silence: scripts may give it, so it is dropped here too, but not in silence. */
export const ignoredLine = (word: string, why: string): string => warningLine(`${word} is ignored: ${why}`);

/** An error on a node: `NODE: [mn]: Error: TEXT`. */
export const nodeErrorLine = (node: string, text: string, server: string | undefined): string =>
  `${node}: ${tag(server)}Error: ${text}`;

/** Lines of results name the server only where XCATSHOWSVR (or the option -V, as `shown`) asks for it. */
export function resultLine(
  text: string,
  { env, server, shown = false }: { env: Shows; server: string | undefined; shown?: boolean },
) {
  return shown || showsServer(env) ? `${tag(server)}${text}` : text;
}

type Shows = Readonly<Record<string, string | undefined>>;

export const showsServer = (env: Shows): boolean => Boolean(env['XCATSHOWSVR']) && env['XCATSHOWSVR'] !== '0';

/** The result of a node: `NODE: TEXT`, or `NODE: [mn]: TEXT`. */
export function nodeLine(
  node: string,
  text: string,
  { env, server, shown = false }: { env: Shows; server: string | undefined; shown?: boolean },
): string {
  return `${node}: ${shown || showsServer(env) ? tag(server) : ''}${text}`;
}

/** What is said where a range has unknown names; the whole range is checked before anything is done. */
export const unknownNodes = (names: readonly string[]): string =>
  errorLine(`Invalid nodes and/or groups in noderange: ${names.join(',')}`);

/** xCAT's words for names of a range; those for images, kits and other objects end with another type. */
const isAboutNodes = (line: string): boolean =>
  /^Invalid nodes and\/or groups in noderange: | of type '(?:node|group)'\.$/.test(line);

/** A refusal as xCAT's commands report it. */
export function refusalLines(refused: Refused, server: string | undefined): string[] {
  if (refused.kind === 'unknown-object' && refused.reference.length > 0 && refused.reference.every(isAboutNodes))
    return [unknownNodes(refused.missing)];
  const said = refused.reference.length > 0 ? refused.reference : refused.sentences;
  return said.map((sentence) => errorLine(sentence, server));
}

/** What to use instead, below an error in xCAT's words. */
export const noteLine = (text: string): string => `Note: ${text}`;

/** The version that xCAT's commands show: scripts ask for that of the system whose commands these are. */
export const referenceVersion = '2.19.0';

/** Lines of an input by the node that stands before their colon, in the order in which nodes first appear. */
export async function linesByNode(input: Input, nameless: string | undefined): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for await (const line of input.lines()) {
    const { node, text } = splitLine(line);
    const name = node ?? nameless;
    if (name === undefined) continue;
    const lines = found.get(name);
    if (lines) lines.push(text);
    else found.set(name, [text]);
  }
  return found;
}

export interface NodeLine {
  /** Undefined where the line has no colon. */
  readonly node: string | undefined;
  readonly text: string;
}

/** `NODE: TEXT`; one blank behind the colon belongs to it. */
export function splitLine(line: string): NodeLine {
  const colon = line.indexOf(':');
  if (colon < 0) return { node: undefined, text: line };
  const text = line.slice(colon + 1);
  return { node: line.slice(0, colon).trim(), text: text.startsWith(' ') ? text.slice(1) : text };
}

const rule = '='.repeat(36);

/** A text below the names of those who have it. */
export const foldedBlock = (names: string, text: string): string => `${rule}\n${names}\n${rule}\n${text}\n\n`;

/** How many they are, before the text. */
export const countLines = (count: number): string => `Node count = ${count} \n${rule}\n`;

/** What secrets are shown as. */
export const hidden = '********';

let collator: Intl.Collator | undefined;

/** Names in the order people expect, n2 before n10. */
export function byName(a: string, b: string): number {
  // It takes 10 ms to make, and most commands sort nothing.
  collator ??= new Intl.Collator('en', { numeric: true });
  return collator.compare(a, b) || (a < b ? -1 : Number(a > b));
}
