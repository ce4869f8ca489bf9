// The process that long work is done in. It gets its order on the channel, and ends when muster is gone.
import '../core/source-lines.ts';
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { Fault } from '../core/errors.ts';
import type { FromChild, Order, ToChild, WorkModule } from './messages.ts';
import { openTask } from './task.ts';

const priority = 10;
const abort = new AbortController();

process.on('disconnect', () => process.exit(1));
process.on('message', (message: ToChild) => {
  if ('abort' in message) abort.abort(new Fault(message.abort.kind, message.abort.sentences));
  else void obey(message.order);
});

async function obey(order: Order): Promise<void> {
  const { task, flush } = openTask(order, abort.signal, (message) => process.send!(message));
  let last: FromChild;
  try {
    const { work } = (await import(order.module)) as WorkModule<unknown, unknown>;
    standBack();
    last = { made: await work(order.job, task) };
  } catch (error) {
    last = failure(error);
  }
  flush();
  process.send!(last, () => process.exit(0));
}

function failure(error: unknown): FromChild {
  if (error instanceof Fault) return { fault: { kind: error.kind, sentences: error.sentences } };
  if (!(error instanceof Error)) return { error: { text: String(error) } };
  return { error: { text: error.stack ?? error.message, code: (error as NodeJS.ErrnoException).code } };
}

/** What muster was started with counts no more: whoever waits for the service goes first, and if memory runs out this process goes. */
function standBack(): void {
  process.umask(0o022);
  setPriority(priority);
  for (const [file, value] of [
    // The kernel weighs sessions, and this one is of its own.
    ['/proc/self/autogroup', priority],
    ['/proc/self/oom_score_adj', 500],
  ] as const) {
    try {
      writeFileSync(file, `${value}`);
    } catch {
      // Not every kernel has it; then the priority alone counts.
    }
  }
}
