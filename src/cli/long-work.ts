import { cancelOnInterrupt } from './cancel.ts';
import { Refused } from './client-errors.ts';
import type { Invocation } from './invocation.ts';
import { errorLine } from './lines.ts';

/** Work that takes minutes: its lines are printed as they come. Ctrl-C ends it on the server too. Whether it came to a good end. */
export async function longWork(
  invocation: Invocation,
  at: string,
  body: unknown,
  words: (sentences: readonly string[]) => readonly string[] = (sentences) => sentences,
): Promise<boolean> {
  const { client, stdout, stderr } = invocation;
  let failed = false;
  try {
    const stream = await client.stream('POST', at, { body });
    const release = cancelOnInterrupt(invocation, stream.run);
    let last = '';
    for await (const line of stream.lines) {
      if (line.progress && line.progress.line !== last) await stdout.line((last = line.progress.line));
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
