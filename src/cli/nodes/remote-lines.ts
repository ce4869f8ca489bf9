import type { StreamLine } from '../replies.ts';
import type { Invocation } from '../command.ts';
import { commonAtEnd } from '../common-options.ts';
import { keptText } from '../bytes.ts';
import { Refused } from '../errors.ts';
import { warningLine } from '../lines.ts';

/** What a command printed on a node, as streams hold it. */
export interface RemoteOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly code?: number;
  readonly signal?: string;
  /** The bytes of what is not UTF-8. */
  readonly base64?: { readonly stdout?: string; readonly stderr?: string };
}

const silent: RemoteOutput = { stdout: '', stderr: '' };

export const outputOf = ({ value, output, error }: StreamLine): RemoteOutput =>
  withBytes(((error === undefined ? value : output) as RemoteOutput | undefined) ?? silent);

/** The same with the bytes of what is not UTF-8. */
export function withBytes<T extends RemoteOutput>(output: T): T {
  if (!output.base64) return output;
  const streams = Object.entries(output.base64);
  const kept = streams.map(([stream, text]) => [stream, keptText(Buffer.from(text, 'base64'))] as const);
  return { ...output, ...Object.fromEntries(kept) };
}

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

/** What stands behind the command is the command's own; whoever meant an option of psh or xdsh must know that it is none. */
export function warnOfLateOption({ stderr, name }: Invocation, words: readonly string[]): void {
  const option = commonAtEnd(words);
  if (option === undefined) return;
  stderr.line(
    warningLine(
      `${option} is sent to the nodes as a part of the command, which runs there. If you mean ${option} of ${name}, write ${name} NODERANGE ${option} COMMAND. To send it without this warning, put the command in quotes.`,
    ),
  );
}

/** These commands warn of unknown nodes on standard output. */
export function reportUnknown(error: unknown, { stdout }: Invocation, code: number): number {
  if (!(error instanceof Refused) || error.missing.length === 0) throw error;
  stdout.line(`Warning: Invalid nodes in noderange:${error.missing.join(',')}`);
  return code;
}
