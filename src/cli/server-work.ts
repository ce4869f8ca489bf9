import { type CallOptions, path, type SentRequest } from './client.ts';
import type { Invocation } from './command.ts';
import type { CommonOptions } from './common-options.ts';
import { Refused, UsageError } from './errors.ts';
import { errorLine, warningLine } from './lines.ts';
import { writeTried } from './muster/row-diff.ts';

/** Does one thing on the management node; what there is to say beside that it is done comes back. An empty range is no error. */
export async function act(
  { client }: Invocation,
  method: 'POST' | 'DELETE' | 'PUT',
  at: string,
  options: CallOptions = {},
): Promise<readonly string[]> {
  try {
    const { body } = await client.call(method, at, { ...options, query: { ...options.query, debug: '1' } });
    const said = (body as { debug?: readonly string[] } | undefined)?.debug ?? [];
    // The request, the command, the run and the revision come first.
    return said.slice(4);
  } catch (error) {
    if (error instanceof Refused && error.isEmpty) return [];
    throw error;
  }
}

export function warn({ client, stderr }: Invocation, messages: readonly string[]): void {
  for (const message of messages) stderr.line(warningLine(message.replace(/\.$/, ''), client.server));
}

/** Work that takes minutes: its lines are printed as they come. Ctrl-C ends it on the server too. Whether it came to a good end. */
export async function longWork(
  invocation: Invocation,
  at: string,
  body: unknown,
  { detach: leaves }: Pick<CommonOptions, 'detach'>,
  words: (sentences: readonly string[]) => readonly string[] = (sentences) => sentences,
): Promise<boolean> {
  const { client, stdout, stderr } = invocation;
  let failed = false;
  try {
    if (leaves) {
      await detach(invocation, { method: 'POST', at, body });
      return true;
    }
    const stream = await client.stream('POST', at, { body });
    const release = cancelOnInterrupt(invocation, stream.run);
    let last = '';
    for await (const line of stream.lines) {
      if (line.progress && line.progress.line !== last) await stdout.line((last = line.progress.line));
      if (client.mode === 'try' && line.value !== undefined) await writeTried(invocation, line.value);
      if (line.error === undefined) continue;
      failed = true;
      for (const text of words([line.error].flat())) await stderr.line(errorLine(text, client.server));
    }
    release();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const said = error.reference.length > 0 ? error.reference : error.sentences;
    for (const text of words(said)) await stderr.line(errorLine(text, client.server));
    return false;
  }
  return !failed;
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
