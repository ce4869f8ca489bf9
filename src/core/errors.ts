/** Every kind of error a client can meet, with its code and its status at `/muster` (rest/roots.ts holds what differs elsewhere). */
export const errorKinds = {
  'too-large': { status: 400, code: 2 },
  malformed: { status: 400, code: 2 },
  'missing-action': { status: 400, code: 2 },
  'missing-operation-data': { status: 400, code: 3 },
  'missing-member': { status: 400, code: 2 },
  'unknown-member': { status: 400, code: 2 },
  unauthenticated: { status: 401, code: 2 },
  denied: { status: 403, code: 2 },
  'unknown-path': { status: 404, code: 2 },
  'unknown-object': { status: 404, code: 1 },
  invalid: { status: 403, code: 1 },
  conflict: { status: 409, code: 1 },
  method: { status: 405, code: 2 },
  'not-acceptable': { status: 406, code: 2 },
  deadline: { status: 408, code: 4 },
  precondition: { status: 412, code: 6 },
  expectation: { status: 417, code: 6 },
  garbled: { status: 418, code: 1 },
  unavailable: { status: 503, code: 5 },
} as const;

export type ErrorKind = keyof typeof errorKinds;

export interface FaultOptions {
  /** Seconds after which trying again makes sense; sent as Retry-After. */
  retryAfter?: number;
  /** The nodes that were asked for, unknown ones too, where one of them is not known. */
  about?: readonly string[];
  /** The names that nothing has, where that is what was wrong. */
  missing?: readonly string[];
  /** What the reference system says instead, where scripts are known to look for its words. */
  reference?: readonly string[];
  /** Nothing was done, so the same request may be sent to another server. */
  nothingDone?: boolean;
  cause?: unknown;
}

/** An error meant for the client: one or more sentences that say what was wrong, where, and what to do. */
export class Fault extends Error {
  readonly kind: ErrorKind;
  readonly sentences: readonly string[];
  readonly retryAfter: number | undefined;
  readonly about: readonly string[] | undefined;
  readonly missing: readonly string[] | undefined;
  readonly reference: readonly string[] | undefined;
  readonly nothingDone: boolean;

  constructor(kind: ErrorKind, sentences: string | readonly string[], options: FaultOptions = {}) {
    const list = typeof sentences === 'string' ? [sentences] : sentences;
    super(list.join(' '), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Fault';
    this.kind = kind;
    this.sentences = list;
    this.retryAfter = options.retryAfter;
    this.about = options.about;
    this.missing = options.missing;
    this.reference = options.reference;
    this.nothingDone = options.nothingDone ?? false;
  }
}

/** A device that does not answer at all: asking it again at once would cost everybody the same wait. */
export class Unreachable extends Fault {
  constructor(sentence: string, options: FaultOptions = {}) {
    super('invalid', sentence, options);
    this.name = 'Unreachable';
  }
}

/** The machine is there, and nothing listens: it says so at once, so the next request may ask it again. */
export class NothingListens extends Unreachable {}

/** A Fault as plain data, for what is reported later or by another process. */
export interface FaultData {
  readonly kind: ErrorKind;
  readonly sentences: readonly string[];
}

/** What work brings, or its Fault as data. */
export async function orFault<T>(work: Promise<T>): Promise<T | FaultData> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Fault) return { kind: error.kind, sentences: error.sentences };
    throw error;
  }
}

/** The opposite: a Fault that is data is thrown. */
export function unlessFault<T extends object>(outcome: T | FaultData): Exclude<T, FaultData> {
  if ('sentences' in outcome) throw new Fault(outcome.kind, outcome.sentences);
  return outcome as Exclude<T, FaultData>;
}
