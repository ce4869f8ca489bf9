import { Garbled, NotReached, Refused, UsageError } from './client-errors.ts';
import type { Invocation } from './invocation.ts';
import { errorLine, refusalLines } from './lines.ts';
import { ReaderGone, WriteFailed } from './output.ts';

/** Says what a command has thrown, as its kind of command says it, and answers the exit status. */
export function tellFailure(error: unknown, invocation: Invocation, own: boolean): number {
  if (error instanceof ReaderGone) return brokenPipe;
  return own ? tellOwn(error, invocation) : tellFamiliar(error, invocation);
}

/** As a shell shows the end of a program by SIGPIPE. */
const brokenPipe = 141;
/** As it shows the end by Ctrl-C. */
const interrupted = 130;

/** As the reference system's commands do: 111 where there is no server, 1 for everything else. */
function tellFamiliar(error: unknown, { stdout, stderr, client, signal }: Invocation): number {
  if (error instanceof NotReached) {
    stdout.write(
      `Unable to open socket connection to xcatd daemon on ${error.place}.\n` +
        'Verify that the xcatd daemon is running and that your SSL setup is correct.\n',
    );
    stderr.line(`Connection failure: ${error.reason}`);
    return 111;
  }
  if (error instanceof Refused) for (const line of refusalLines(error, client.server)) stderr.line(line);
  else if (signal.aborted) return interrupted;
  else stderr.line(errorLine(sentenceOf(error)));
  return 1;
}

/** 2 where the call was wrong, 3 where the server is not reached or does not allow it, 1 for everything else. */
function tellOwn(error: unknown, { name, stderr, signal, client }: Invocation): number {
  const say = (sentence: string) => stderr.line(`muster ${name}: ${sentence}`);
  if (error instanceof UsageError) {
    say(error.message);
    stderr.line(`Call muster ${name} -h for help.`);
    return 2;
  }
  if (error instanceof NotReached) {
    say(`The server at ${error.place} cannot be reached: ${error.reason}.`);
    return 3;
  }
  if (error instanceof Refused) {
    for (const sentence of error.sentences) say(sentence);
    if (error.status === 401 && name !== 'login' && client.place.token !== undefined)
      say(`Log in again: muster login ${client.place.socket === undefined ? `https://${client.place.shown}` : 'URL'}`);
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
