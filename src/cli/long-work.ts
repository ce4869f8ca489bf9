import { path } from './client.ts';
import { Refused } from './client-errors.ts';
import type { Invocation } from './invocation.ts';
import { errorLine, refusalLines } from './lines.ts';

interface Ended {
  readonly value?: unknown;
  readonly ok: boolean;
}

/** Work that takes minutes: its lines are printed as they come. Ctrl-C ends it on the server too. */
export async function longWork(
  invocation: Invocation,
  at: string,
  body: unknown,
  words: (sentences: readonly string[]) => readonly string[] = (sentences) => sentences,
): Promise<Ended> {
  const { client, stdout, stderr, signal } = invocation;
  let value: unknown;
  let failed = false;
  try {
    const stream = await client.stream('POST', at, { body });
    const cancel = (): void => {
      if (stream.run === undefined) return;
      client.call('DELETE', path('runs', stream.run)).catch((error: unknown) => {
        stderr.line(
          errorLine(
            `The run ${stream.run} could not be cancelled: ${error instanceof Error ? error.message : String(error)}`,
          ),
        );
      });
    };
    signal.addEventListener('abort', cancel, { once: true });
    let last = '';
    for await (const line of stream.lines) {
      if (line.progress && line.progress.line !== last) await stdout.line((last = line.progress.line));
      else if (line.error !== undefined) {
        failed = true;
        for (const text of words([line.error].flat())) await stderr.line(errorLine(text, client.server));
      } else if (line.value !== undefined) ({ value } = line);
    }
    signal.removeEventListener('abort', cancel);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const texts = words(error.reference.length > 0 ? error.reference : error.sentences);
    const lines = error.missing.length > 0 ? texts.map((text) => errorLine(text, client.server)) : undefined;
    for (const line of lines ??
      (error.reference.length > 0
        ? refusalLines(error, client.server)
        : texts.map((text) => errorLine(text, client.server))))
      await stderr.line(line);
    return { ok: false };
  }
  return { value, ok: !failed };
}
