import type { Refused } from './client-errors.ts';

/** The server as lines name it, for instance `[mn]`. */
const tag = (server: string | undefined): string => (server === undefined ? '' : `[${server}]: `);

/** An error that a command met: `Error: [mn]: TEXT`. Errors found before a command runs have no server: `Error: TEXT`. */
export const errorLine = (text: string, server?: string): string => `Error: ${tag(server)}${text}`;

export const warningLine = (text: string, server?: string): string => `Warning: ${tag(server)}${text}`;

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

/** A refusal as the familiar commands tell it. */
export function refusalLines(refused: Refused, server: string | undefined): string[] {
  if (refused.kind === 'unknown-object' && refused.missing.length > 0) return [unknownNodes(refused.missing)];
  const said = refused.reference.length > 0 ? refused.reference : refused.sentences;
  return said.map((sentence) => errorLine(sentence, server));
}

/** The version that familiar commands tell: scripts ask for that of the system whose commands these are. */
export const referenceVersion = '2.19.0';
