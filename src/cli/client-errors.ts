/** The server cannot be reached, or is not the one that is trusted. */
export class NotReached extends Error {
  /** What was tried, as HOST:PORT or the path of a socket. */
  readonly place: string;
  readonly reason: string;

  constructor(place: string, reason: string) {
    super(`${place}: ${reason}`);
    this.name = 'NotReached';
    this.place = place;
    this.reason = reason;
  }
}

/** The server said no. */
export class Refused extends Error {
  readonly status: number;
  readonly errorcode: number;
  /** As in `core/errors.ts`; empty where a server does not tell. */
  readonly kind: string;
  readonly sentences: readonly string[];
  /** Names that nothing has, where that is why. */
  readonly missing: readonly string[];
  /** What the reference system says instead, where that is known. */
  readonly reference: readonly string[];

  constructor(
    status: number,
    body: Partial<Record<'error' | 'errorcode' | 'kind' | 'missing' | 'reference', unknown>>,
  ) {
    const sentences = texts(body.error);
    super(sentences.join(' '));
    this.name = 'Refused';
    this.status = status;
    this.errorcode = typeof body.errorcode === 'number' ? body.errorcode : 1;
    this.kind = typeof body.kind === 'string' ? body.kind : '';
    this.sentences = sentences.length > 0 ? sentences : [unexplained(status)];
    this.missing = texts(body.missing);
    this.reference = texts(body.reference);
  }

  /** A range without any node. */
  get isEmpty(): boolean {
    return this.reference.includes('No object names were provided.');
  }

  /** Who asks is not known, or may not. */
  get isDenied(): boolean {
    return this.kind === 'unauthenticated' || this.kind === 'denied' || this.status === 401;
  }
}

const unexplained = (status: number): string =>
  status < 400
    ? `The server answered with a redirect (status ${status}), which is not followed. Give the address of muster itself.`
    : `The server answered with status ${status}.`;

/** A reply that ended too early, or is none of ours. */
export class Garbled extends Error {}

/** The command was called wrongly; only our own commands tell it this way. */
export class UsageError extends Error {}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];
