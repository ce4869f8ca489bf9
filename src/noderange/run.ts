import { Fault } from '../core/errors.ts';
import type { Cluster } from './cluster.ts';

/** A generated name longer than this is refused: nothing that long can be a host name. */
export const longestName = 255;
/** Parentheses and sub-ranges inside each other. */
export const deepestNesting = 200;
/** Criteria and regular expressions in one range; each looks at every node. */
const mostScans = 10;
/** Names looked at on the way to the result (groups named twice, excluded ranges), as a multiple of the limit. */
const effortFactor = 10;
/** Making a name and looking it up costs as much as looking at this many that are there already. */
const makingCost = 5;

/** Limits shared by all parts of one expansion. */
export interface Effort {
  readonly limit: number;
  names: number;
  scans: number;
}

/** One text on its way to a set of names. */
export interface Run {
  /** The text without its quotation marks; every `at` is an offset in it. */
  readonly text: string;
  /** Undefined: syntactic mode, nothing is looked up. */
  readonly cluster: Cluster | undefined;
  /** Unknown text is missed if true, a literal name if not. */
  readonly verify: boolean;
  readonly missed: string[];
  readonly effort: Effort;
  readonly origin: 'noderange' | 'site attribute excludenodes' | 'range file';
  /** Columns of the original text, if quotation marks were taken out. */
  readonly columns: Uint32Array | undefined;
}

export function startRun(
  original: string,
  origin: Run['origin'],
  scope: Pick<Run, 'cluster' | 'verify' | 'effort'>,
): Run {
  const { cluster, verify, effort } = scope;
  const quoted = /['"]/.test(original);
  return {
    text: quoted ? original.replace(/['"]/g, '') : original,
    cluster,
    verify,
    effort,
    origin,
    missed: [],
    columns: quoted ? columnsOf(original) : undefined,
  };
}

function columnsOf(original: string): Uint32Array {
  const columns = new Uint32Array(original.length);
  let kept = 0;
  for (let i = 0; i < original.length; i++) {
    if (original[i] !== "'" && original[i] !== '"') columns[kept++] = i + 1;
  }
  return columns.subarray(0, kept);
}

/** The 1-based column in the text as the user wrote it. */
export function columnAt(run: Run, at: number): number {
  return run.columns?.[at] ?? at + 1;
}

/** `"piece" at column 7 of the noderange`, for the beginning of a sentence. */
export function locate(run: Run, piece: string, at: number): string {
  const shown = piece.length > 80 ? `${piece.slice(0, 77)}...` : piece;
  return `"${shown}" at column ${columnAt(run, at)} of the ${run.origin}`;
}

export function malformed(run: Run, piece: string, at: number, why: string): Fault {
  return new Fault('invalid', `${locate(run, piece, at)} ${why}.`);
}

function tooMany(effort: Effort, subject: string): Fault {
  const limit = effort.limit.toLocaleString('en-US');
  return new Fault('invalid', `${subject} stands for more than ${limit} names; ask for fewer nodes at a time.`);
}

/** Accounts for names before they are handled, so that no text can keep the server busy for long. */
export function charge(run: Run, names: number): void {
  run.effort.names += names;
  if (run.effort.names > run.effort.limit * effortFactor) throw tooMany(run.effort, `The ${run.origin}`);
}

/** The same for names that are yet to be made; more of them than the limit are refused outright. */
export function chargeMaking(run: Run, names: number, piece: string, at: number): void {
  if (names > run.effort.limit) throw tooMany(run.effort, locate(run, piece, at));
  charge(run, names * makingCost);
}

export function chargeScan(run: Run, piece: string, at: number): void {
  if (++run.effort.scans > mostScans) {
    throw malformed(run, piece, at, `is one too many: a range holds at most ${mostScans} criteria and patterns`);
  }
}

export function keep(run: Run, out: Set<string>, name: string): void {
  out.add(name);
  if (out.size > run.effort.limit) throw tooMany(run.effort, `The ${run.origin}`);
}

/** Text that is neither node nor group nor any expression. */
export function unknown(run: Run, out: Set<string>, text: string, missedAs = text): void {
  if (!run.verify) return keep(run, out, text);
  run.missed.push(missedAs);
  if (run.missed.length > run.effort.limit) throw tooMany(run.effort, `The ${run.origin}`);
}
