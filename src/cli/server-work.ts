import { type CallOptions, messagesIn, NotSent, path, type SentRequest } from './client.ts';
import type { Invocation } from './command.ts';
import type { CommonOptions } from './common-options.ts';
import { Refused, UsageError } from './errors.ts';
import { errorLine, warningLine } from './lines.ts';
import { writeTried } from './muster/row-diff.ts';
import { inCommands } from './remedies.ts';

/** Does one thing on the management node; what there is to say beside that it is done comes back. An empty range is no error. */
export async function act(
  { client }: Invocation,
  method: 'POST' | 'DELETE' | 'PUT',
  at: string,
  options: CallOptions = {},
): Promise<readonly string[]> {
  try {
    const { body } = await client.call(method, at, { ...options, query: { ...options.query, debug: '1' } });
    return messagesIn(body);
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return [];
    // Nothing that follows depends on it, so the requests behind it are printed too.
    if (error instanceof NotSent) return [];
    throw error;
  }
}

export function warn({ client, stderr }: Invocation, messages: readonly string[]): void {
  for (const message of messages) stderr.line(warningLine(inCommands(message).replace(/\.$/, ''), client.server));
}

/** Work that takes minutes: its lines are printed as they come, and handed to `seen`. Ctrl-C ends it on the server too. Whether it came to a good end. */
export async function longWork(
  invocation: Invocation,
  at: string,
  body: unknown,
  { detach: leaves }: Pick<CommonOptions, 'detach'>,
  words: (sentences: readonly string[]) => readonly string[] = (sentences) => sentences,
  seen?: (line: string) => void,
): Promise<boolean> {
  const { client, stdout, stderr } = invocation;
  let failed = false;
  let silence: Silence | undefined;
  try {
    if (leaves) {
      await detach(invocation, { method: 'POST', at, body });
      return true;
    }
    const stream = await client.stream('POST', at, { body });
    const release = cancelOnInterrupt(invocation, stream.run);
    let last = '';
    silence = new Silence(invocation);
    for await (const line of stream.lines) {
      if (line.progress) silence.progress(line.progress);
      if (line.progress && line.progress.line !== last) {
        seen?.(line.progress.line);
        await stdout.line((last = line.progress.line));
      }
      if (client.mode === 'try' && line.value !== undefined) await writeTried(invocation, line.value);
      if (line.error === undefined) continue;
      failed = true;
      for (const text of words([line.error].flat())) await stderr.line(errorLine(inCommands(text), client.server));
    }
    release();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const said = error.reference.length > 0 ? error.reference : error.sentences;
    for (const text of words(said)) await stderr.line(errorLine(text, client.server));
    return false;
  } finally {
    silence?.end();
  }
  return !failed;
}

const half = 30_000;

/** Says twice a minute that work goes on which has nothing to say: whoever reads a log must see that it does not hang. */
class Silence {
  readonly #invocation: Invocation;
  readonly #began = Date.now();
  readonly #timer: NodeJS.Timeout;
  #line = '';
  #share = '';

  constructor(invocation: Invocation) {
    this.#invocation = invocation;
    const every = Number(invocation.env['MUSTER_PROGRESS_SECONDS']) * 1_000 || half;
    this.#timer = setInterval(() => this.#tell(), every);
  }

  progress({ done, of, line }: { readonly done: number; readonly of: number; readonly line: string }): void {
    this.#share = done > 0 && of > 1 ? `, ${Math.floor((100 * done) / of)} %` : '';
    if (line === this.#line) return;
    this.#line = line;
    this.#timer.refresh();
  }

  #tell(): void {
    const seconds = Math.round((Date.now() - this.#began) / 1_000);
    const after = this.#line === '' ? '' : ` (${this.#line})`;
    this.#invocation.stderr.line(`${this.#invocation.name}: at work for ${seconds} s${this.#share}${after}`);
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

/** Starts work on the server, prints the number of its run and leaves it. */
export async function detach(
  { client, stdout, stderr }: Invocation,
  { method, at, headers, ...options }: CallOptions & Pick<SentRequest, 'method' | 'at'>,
): Promise<void> {
  const asked = { ...headers, Prefer: 'respond-async, errors=detailed' };
  const reply = await client.call(method, at, { ...options, headers: asked });
  const run = reply.headers['x-muster-run'];
  if (typeof run !== 'string') throw new UsageError('The server started no run for this; leave --detach out.');
  stdout.line(run);
  // A change of the database has ended before its reply.
  if (reply.status !== 202) stderr.line(`The run has ended already; muster runs attach ${run} shows its results.`);
}

/** Ctrl-C ends the work on the server too; what came of each node is still printed. */
export function cancelOnInterrupt({ client, signal, stderr }: Invocation, run: string | undefined): () => void {
  const cancel = (): void => {
    if (run === undefined) return;
    client.call('DELETE', path('runs', run)).catch((error: unknown) => {
      stderr.line(`The run ${run} could not be cancelled: ${error instanceof Error ? error.message : String(error)}`);
    });
  };
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}
