import type { Fault } from './errors.ts';

/** Attributes, some of which may be lists, or have attributes of their own; or lines. */
export type NodeValue = Readonly<Record<string, NodeMember>> | readonly string[];

type Texts = Readonly<Record<string, string>>;
type NodeMember = string | readonly string[] | Texts | readonly Texts[];

/** What a command printed on a node and how it ended. Kept as text: a line a piece would cost far more. */
export interface NodeOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly code?: number | undefined;
  readonly signal?: string | undefined;
  /** The bytes of streams that are not UTF-8, whose texts have replacement characters. */
  readonly base64?: { readonly stdout?: string; readonly stderr?: string } | undefined;
  /** Bytes that were printed and are not kept. */
  readonly cut?: number | undefined;
  /** What there is to say besides, such as that output was cut. */
  readonly notes?: readonly string[] | undefined;
}

/** Takes a piece of what a node prints; the node waits until the promise is settled. */
export type PassOn = (node: string, stream: 'stdout' | 'stderr', piece: string) => Promise<void>;

/** What came of one node, as plain data. `kind`: more than "it failed"; a kind that all nodes share decides the status. */
export type NodeResult<Value = NodeValue> =
  | { readonly node: string; readonly value: Value }
  | { readonly node: string; readonly output: NodeOutput }
  | NodeFailure;

export interface NodeFailure {
  readonly node: string;
  readonly error: string;
  readonly kind?: FailureKind | undefined;
  /** What the reference system says of it. */
  readonly reference?: string | undefined;
  readonly output?: NodeOutput | undefined;
}

/** Past the deadline; an answer that cannot be understood. */
type FailureKind = 'deadline' | 'garbled';

/** Part of a sentence may be what a node sent. */
const longestError = 8 * 1024;

/** What went wrong with a node. */
export function nodeFailure(node: string, { kind, sentences, reference }: Fault): NodeFailure {
  const text = oneText(sentences);
  const error = text.length > longestError ? `${text.slice(0, longestError)}...` : text;
  return {
    node,
    error,
    ...(kind === 'deadline' || kind === 'garbled' ? { kind } : {}),
    ...(reference ? { reference: reference.join(' ') } : {}),
  };
}

/** Sentences are written to follow the node's name; all but the first follow a full stop. */
const oneText = ([first = '', ...more]: readonly string[]): string =>
  [first, ...more.map((sentence) => sentence.charAt(0).toUpperCase() + sentence.slice(1))].join(' ');

/** What a client sees of a result; of an error also what the reference system says, if it wants to know. */
export function shownResult(result: NodeResult, detailed = false): object {
  if ('error' in result) {
    const { node, error, output, reference } = result;
    return { node, error, output, ...(detailed ? { reference } : {}) };
  }
  return 'output' in result ? { node: result.node, value: result.output } : result;
}

/** The kind of error that results together are; undefined if all is well. */
export class Verdict {
  #failed = false;
  #kinds = new Set<FailureKind | undefined>();

  add(result: NodeResult): void {
    this.#failed ||= 'error' in result;
    this.#kinds.add('error' in result ? result.kind : undefined);
  }

  get kind(): FailureKind | 'invalid' | undefined {
    if (!this.#failed) return undefined;
    const [kind] = this.#kinds;
    return this.#kinds.size === 1 && kind ? kind : 'invalid';
  }
}

/** Lines of a node's standard error in an error reply; thousands of nodes may have failed. */
const maximumComplaints = 100;

/** All of an output as lines. */
export const outputLines = ({ stdout, stderr, notes = [] }: NodeOutput): string[] => [
  ...linesOf(stdout),
  ...linesOf(stderr),
  ...notes,
];

/** What explains a failure: what went to standard error, else how the other output begins. */
export function complaintsIn({ stdout, stderr, notes = [] }: NodeOutput): string[] {
  const said = linesOf(stderr, maximumComplaints + 1);
  if (said.length === 0) return linesOf(stdout, 1);
  if (said.length <= maximumComplaints) return [...said, ...notes];
  return [...said.slice(0, maximumComplaints), 'there is more on standard error; the run shows all of it.'];
}

function linesOf(text: string, limit?: number): string[] {
  if (text === '') return [];
  // Line by line it would take several times as long, and a node may print a million of them.
  return withoutEnd(withoutEnd(text, '\n'), '\r').replaceAll('\r\n', '\n').split('\n', limit);
}

const withoutEnd = (text: string, end: string): string => (text.endsWith(end) ? text.slice(0, -end.length) : text);
