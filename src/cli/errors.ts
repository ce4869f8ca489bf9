import type { Invocation } from './command.ts';
import { errorLine, refusalLines } from './lines.ts';
import { inCommands } from './remedies.ts';
import { ReaderGone, WriteFailed } from './output.ts';
import { withLocalTimes } from './times.ts';

/** The server cannot be reached, or is not the one that is trusted. */
export class NotReached extends Error {
  /** What was tried, as HOST:PORT or the path of a socket, separated by commas. */
  readonly place: string;
  readonly reason: string;
  /** Sentences: what was tried, as whom, and what to do next. */
  readonly advice: string;
  readonly #isOne: boolean;

  constructor(places: readonly string[], reason: string, advice = '') {
    super(places.length === 1 ? `${places[0]}: ${reason}` : reason);
    this.name = 'NotReached';
    this.place = places.join(', ');
    this.reason = reason;
    this.advice = advice;
    this.#isOne = places.length === 1;
  }

  /** The reason names each of several servers. */
  get sentence(): string {
    return `${this.#isOne ? `The server at ${this.place} cannot` : 'No server can'} be reached: ${this.reason}.`;
  }
}

/** The server said no. */
export class Refused extends Error {
  readonly status: number;
  readonly errorcode: number;
  /** As in `core/errors.ts`; empty where a server does not say. */
  readonly kind: string;
  readonly sentences: string[];
  /** Names that nothing has, where that is why. */
  readonly missing: readonly string[];
  /** What xCAT says instead, where that is known. */
  readonly reference: readonly string[];

  constructor(
    status: number,
    body: Partial<Record<'error' | 'errorcode' | 'kind' | 'missing' | 'reference', unknown>>,
  ) {
    const sentences = texts(body.error).map((sentence) => withLocalTimes(inCommands(sentence)));
    super(sentences.join(' '));
    this.name = 'Refused';
    this.status = status;
    this.errorcode = typeof body.errorcode === 'number' ? body.errorcode : 1;
    this.kind = typeof body.kind === 'string' ? body.kind : '';
    this.sentences = sentences.length > 0 ? sentences : [unexplained(status)];
    this.missing = texts(body.missing);
    this.reference = texts(body.reference);
  }

  /** Says more about it. */
  add(sentence: string): void {
    this.sentences.push(sentence);
    this.message = this.sentences.join(' ');
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

/** The command was called wrongly; the message says how. */
export class UsageError extends Error {}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];

/** Says what a command has thrown, as its kind of command says it, and answers the exit status. */
export function reportFailure(error: unknown, invocation: Invocation): number {
  if (error instanceof ReaderGone) return brokenPipe;
  return invocation.isMuster ? reportAsMuster(error, invocation) : reportAsXcat(error, invocation);
}

/** As a shell shows the end of a program by SIGPIPE. */
const brokenPipe = 141;
/** As it shows the end by Ctrl-C. */
const interrupted = 130;

/** As xCAT's commands do: 111 where there is no server, 1 for everything else. */
function reportAsXcat(error: unknown, { stdout, stderr, client, signal }: Invocation): number {
  if (error instanceof NotReached) {
    stdout.write(
      `Unable to open socket connection to xcatd daemon on ${error.place}.\n` +
        'Verify that the xcatd daemon is running and that your SSL setup is correct.\n',
    );
    // One line: the reference system prints one.
    stderr.line(`Connection failure: ${[error.reason, error.advice].filter(Boolean).join('. ')}`);
    return 111;
  }
  if (error instanceof Refused) for (const line of refusalLines(error, client.server)) stderr.line(line);
  else if (signal.aborted) return interrupted;
  else stderr.line(errorLine(sentenceOf(error)));
  return 1;
}

/** 2 where the call was wrong, 3 where the server is not reached or does not allow it, 1 for everything else. */
function reportAsMuster(error: unknown, { name, stderr, signal, client }: Invocation): number {
  const command = `muster ${name}`;
  const say = (sentence: string) =>
    stderr.line(sentence.startsWith(`${command} `) ? sentence : `${command}: ${sentence}`);
  if (error instanceof UsageError) {
    say(error.message);
    stderr.line(`Call muster ${name} -h for help.`);
    return 2;
  }
  if (error instanceof NotReached) {
    say([error.sentence, error.advice].filter(Boolean).join(' '));
    return 3;
  }
  if (error instanceof Refused) {
    for (const sentence of error.sentences) say(sentence);
    if (error.status === 401 && name !== 'login' && client.place.token !== undefined) {
      const all = client.places.flatMap(({ socket, shown }) => (socket === undefined ? `https://${shown}` : []));
      say(`Log in again: muster login ${client.place.socket === undefined ? all.join(',') : 'URL'}`);
    }
    return error.isDenied ? 3 : 1;
  }
  if (signal.aborted) return interrupted;
  say(sentenceOf(error));
  return 1;
}

const sentenceOf = (error: unknown): string => {
  if (error instanceof WriteFailed || error instanceof Garbled) return error.message;
  // What a server of another make or version sends is met where it is used.
  if (error instanceof TypeError && !process.env['MUSTER_DEBUG'])
    return `The answer of the server was not understood (${error.message}). Is it a muster server of this version?`;
  return error instanceof Error
    ? process.env['MUSTER_DEBUG']
      ? (error.stack ?? error.message)
      : error.message
    : String(error);
};
