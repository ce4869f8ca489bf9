import { Fault } from '../../core/errors.ts';
import { pause } from './abort.ts';
import type { Reply } from './exchange.ts';
import { messagesOf } from './faults.ts';
import { listAt, textAt } from './json.ts';
import { header, readable } from './session.ts';

const firstPause = 250;
const longestPause = 5_000;
const failed = new Set(['Exception', 'Killed', 'Cancelled']);

/** Asks a task monitor (DSP0266 "Asynchronous operations") until the work is done; some services show the task itself. */
export async function finishTask(
  get: (path: string) => Promise<Reply>,
  monitor: string,
  what: string,
  scrub: (words: string) => string,
  signal: AbortSignal,
): Promise<void> {
  for (let wait = firstPause; ; wait = Math.min(wait * 1.5, longestPause)) {
    const reply = await get(monitor);
    const body = readable(reply);
    const state = textAt(body, 'TaskState');
    // A monitor may be gone once its work is done.
    if (reply.status === 404 || reply.status === 410) return;
    if (reply.status >= 400 || (state !== undefined && failed.has(state))) {
      const said = scrub(
        messagesOf(body) ||
          listAt(body, 'Messages')
            .flatMap((item) => textAt(item, 'Message') ?? [])
            .join(' '),
      );
      throw new Fault(
        'invalid',
        `its service processor could not carry out ${what} (${state ?? reply.status}). ${said}`.trim(),
      );
    }
    if (state === 'Completed' || (state === undefined && reply.status !== 202)) return;
    const asked = Number(header(reply, 'retry-after')) * 1_000;
    await pause(asked > 0 ? Math.min(asked, longestPause) : wait, signal);
  }
}
