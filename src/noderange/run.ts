import { Fault } from '../core/errors.ts';
import { PatternAllowance } from '../core/patterns.ts';
import type { Cluster } from './cluster.ts';
import { missedFault } from './missed.ts';
import type { Names } from './names.ts';

/** A generated name longer than this is refused: nothing that long can be a host name. */
export const longestName = 255;
/** Parentheses and sub-ranges inside each other. */
export const deepestNesting = 50;
/** Criteria and regular expressions in one range; each looks at every node. */
const mostScans = 10;
/** Names made on the way to the result (as those of a range that is taken out again), as a multiple of the limit. */
const makingFactor = 1.5;
/** Names that are there already may be looked at so many times each, nodes of the cluster and names made, ... */
const lookingFactor = 10;
/** ... and so many in any case. */
const lookingFloor = 100_000;

/** Limits shared by all parts of one expansion. */
export class Effort {
  readonly limit: number;
  /** Undefined: unknown names are nobody's concern here. */
  readonly mostUnknown: number | undefined;
  readonly patterns = new PatternAllowance();
  readonly unknown: string[] = [];
  made = 0;
  looked = 0;
  /** Counted when it is needed. */
  nodes: number | undefined;
  scans = 0;

  constructor(limit: number, mostUnknown?: number) {
    this.limit = limit;
    this.mostUnknown = mostUnknown;
  }
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
  readonly origin: 'noderange' | 'site attribute excludenodes' | 'range file' | 'criterion';
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

/** Accounts for names that are there before they are handled, so that no text can keep the server busy for long. */
export function charge(run: Run, names: number): void {
  const { effort } = run;
  effort.looked += names;
  if (effort.looked <= lookingFloor) return;
  effort.nodes ??= countNodes(run);
  if (effort.looked <= lookingFloor + lookingFactor * (effort.nodes + effort.made)) return;
  throw new Fault('invalid', `The ${run.origin} names the same nodes too many times; write it shorter.`);
}

function countNodes({ cluster }: Run): number {
  let nodes = 0;
  for (const _ of cluster?.nodeNames() ?? []) nodes++;
  return nodes;
}

/** The same for names that are yet to be made; more of them than the limit are refused outright. */
export function chargeMaking(run: Run, names: number, piece: string, at: number): void {
  const { effort } = run;
  if (names > effort.limit) throw tooMany(effort, locate(run, piece, at));
  effort.made += names;
  if (effort.made > effort.limit * makingFactor) throw tooMany(effort, `The ${run.origin}`);
}

export function chargeScan(run: Run, piece: string, at: number): void {
  if (++run.effort.scans > mostScans) {
    throw malformed(run, piece, at, `is one too many: a range holds at most ${mostScans} criteria and patterns`);
  }
}

export function keep(run: Run, out: Names, name: string): void {
  out.add(name);
  if (out.exceeds(run.effort.limit)) throw tooMany(run.effort, `The ${run.origin}`);
}

/** Before an unknown name is missed or taken literally. What a range file lists is not counted: it is never quoted. */
export function noteUnknown(run: Run, name: string): void {
  const { unknown: names, mostUnknown } = run.effort;
  if (mostUnknown === undefined || run.origin === 'range file') return;
  if (names.length === mostUnknown) throw missedFault(names, run.text, true);
  names.push(name);
}

/** Text that is neither node nor group nor any expression. */
export function unknown(run: Run, out: Names, text: string, missedAs = text): void {
  noteUnknown(run, missedAs);
  if (!run.verify) return keep(run, out, text);
  run.missed.push(missedAs);
  if (run.missed.length > run.effort.limit) throw tooMany(run.effort, `The ${run.origin}`);
}
