import type { StreamLine } from '../client.ts';
import type { Invocation } from '../command.ts';
import { Refused } from '../errors.ts';

/** What a command printed on a node, as streams hold it. */
export interface RemoteOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly code?: number;
  readonly signal?: string;
}

const silent: RemoteOutput = { stdout: '', stderr: '' };

export const outputOf = ({ value, output, error }: StreamLine): RemoteOutput =>
  ((error === undefined ? value : output) as RemoteOutput | undefined) ?? silent;

export const textLines = (text: string): string[] => {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
};

/** What ssh itself would say where no connection came about; undefined where the command was run. */
export function unreached({ node, error, output, reference }: StreamLine): string | undefined {
  if (error === undefined || (output as RemoteOutput | undefined)?.code !== undefined) return undefined;
  return typeof reference === 'string' ? `ssh: connect to host ${node} port 22: ${reference}` : error;
}

/** A longer line is printed in pieces: it may have no end. */
const longestLine = 1_048_576;

/**
 * Large outputs come in pieces before the line of their node. Keeps those, so that lines are printed whole; what is left at the end
 * of a node belongs to it too.
 */
export class Pieces {
  readonly #kept = new Map<string, string>();

  /** The whole lines that a piece completes. */
  lines(node: string, stream: 'stdout' | 'stderr', piece: string): string[] {
    const key = `${stream} ${node}`;
    const lines = ((this.#kept.get(key) ?? '') + piece).split('\n');
    const rest = lines.pop()!;
    if (rest.length > longestLine) lines.push(rest);
    this.#kept.set(key, rest.length > longestLine ? '' : rest);
    return lines;
  }

  /** What is left of a node's stream; undefined if nothing came in pieces. */
  rest(node: string, stream: 'stdout' | 'stderr'): string | undefined {
    const key = `${stream} ${node}`;
    const rest = this.#kept.get(key);
    this.#kept.delete(key);
    return rest;
  }
}

/** These commands warn of unknown nodes on standard output. */
export function reportUnknown(error: unknown, { stdout }: Invocation, code: number): number {
  if (!(error instanceof Refused) || error.missing.length === 0) throw error;
  stdout.line(`Warning: Invalid nodes in noderange:${error.missing.join(',')}`);
  return code;
}
