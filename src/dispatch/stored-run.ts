import { Type } from 'typebox';
import type { RunHead } from '../commands/command.ts';
import { bodyReader } from '../database/record-bodies.ts';
import type { SharedRecord } from '../database/shared-records.ts';
import { detailsOf, headOf, type Run, type RunDetails } from './run.ts';

/** The kinds of records that a run has; those but the first only if there is something to keep. */
export const runKinds = {
  head: 'run',
  details: 'run-details',
  /** The nodes that it works on. */
  targets: 'run-targets',
  /** Results, in pieces: what is there is not written again while more comes. */
  results: 'run-results',
} as const;

/** What servers announce to each other; names are ids of runs, joined by `idSeparator`. */
export const runCalls = { changed: 'run', ended: 'run-end', cancel: 'cancel-run' } as const;
export const idSeparator = ' ';

/** The head of a run as others read it. */
export interface StoredHead {
  readonly head: RunHead;
  readonly error: readonly string[];
  /** The name of the server that does it. */
  readonly server: string;
  /** Whether it was its user's at that revision. */
  readonly isOwned: boolean;
  /** The limited token that began it. */
  readonly by?: string | undefined;
  readonly revision: number;
  readonly canBeCancelled: boolean;
  /** Whether it was asked to end. */
  readonly isCancelled: boolean;
  /** When that was written. */
  readonly written: string;
  /** How many pieces its results are in. */
  readonly pieces: number;
}

/** Bytes after which a piece of results is full; roughly. */
const fullPiece = 65_536;

/** What was written of a run. */
export interface Written {
  /** Full pieces; the one after them is not. */
  pieces: number;
  /** Results in the full pieces. */
  results: number;
  /** Whether there are results beyond these. */
  hasTail: boolean;
  /** As they were written last. */
  details: string;
  hasTargets: boolean;
}

export const nothingWritten = (): Written => ({
  pieces: 0,
  results: 0,
  hasTail: false,
  details: '{}',
  hasTargets: false,
});

export const piecesOf = ({ pieces, hasTail }: Written): number => pieces + Number(hasTail);
export const pieceName = (id: string, piece: number): string => `${id}/${piece}`;

type OwnRecord = Omit<SharedRecord, 'holder'>;

/** The records that have to be written after `before`, and what is written then. */
export function recordsOf(
  run: Run,
  targets: readonly string[] | undefined,
  before: Written,
  about: Pick<StoredHead, 'server' | 'revision'>,
): { readonly records: readonly OwnRecord[]; readonly after: Written } {
  const { id } = run;
  const records: OwnRecord[] = [];
  const { hasTargets } = before;
  const after = run.results === 'dropped' ? { ...nothingWritten(), hasTargets } : { ...before };
  const piece = (texts: readonly string[], number: number): unknown =>
    records.push({ kind: runKinds.results, name: pieceName(id, number), body: `[${texts.join(',')}]` });
  let texts: string[] = [];
  let length = 0;
  for (const result of Array.isArray(run.results) ? run.results.slice(after.results) : []) {
    const text = JSON.stringify(result);
    texts.push(text);
    length += text.length;
    if (length < fullPiece) continue;
    piece(texts, after.pieces++);
    after.results += texts.length;
    texts = [];
    length = 0;
  }
  after.hasTail = texts.length > 0;
  if (after.hasTail) piece(texts, after.pieces);
  if (targets && !hasTargets) {
    records.push({ kind: runKinds.targets, name: id, body: JSON.stringify(targets) });
    after.hasTargets = true;
  }
  const details = JSON.stringify(detailsOf(run));
  if (details !== before.details) records.push({ kind: runKinds.details, name: id, body: details });
  // What has ended hardly changes, and need not be remembered.
  after.details = run.finished === undefined ? details : '';
  const stored: StoredHead = {
    head: headOf(run),
    error: run.end?.error ?? [],
    ...about,
    isOwned: run.owner.isOwned,
    by: run.owner.by,
    canBeCancelled: run.abort !== undefined,
    isCancelled: run.abort?.signal.aborted === true,
    written: new Date().toISOString(),
    pieces: piecesOf(after),
  };
  records.push({ kind: runKinds.head, name: id, body: JSON.stringify(stored), about: run.user });
  return { records, after };
}

const states: readonly RunHead['state'][] = ['running', 'finished', 'cancelled', 'interrupted'];
const Count = Type.Integer({ minimum: 0 });

export const readHead = bodyReader<StoredHead>(
  Type.Object({
    head: Type.Object({
      id: Type.String(),
      command: Type.String(),
      user: Type.String(),
      nodes: Count,
      ok: Count,
      failed: Count,
      errorcode: Type.Integer(),
      state: Type.Enum([...states]),
      started: Type.String(),
      finished: Type.Optional(Type.String()),
      progress: Type.Optional(Type.Object({ done: Type.Number(), of: Type.Number(), line: Type.String() })),
    }),
    error: Type.Array(Type.String()),
    server: Type.String(),
    isOwned: Type.Boolean(),
    by: Type.Optional(Type.String()),
    revision: Count,
    canBeCancelled: Type.Boolean(),
    isCancelled: Type.Boolean(),
    written: Type.String(),
    pieces: Count,
  }),
);
export const readDetails = bodyReader<RunDetails>(Type.Object({}));
export const readTargets = bodyReader<readonly string[]>(Type.Array(Type.String()));
export const readResults = bodyReader<readonly unknown[]>(Type.Array(Type.Unknown()));
