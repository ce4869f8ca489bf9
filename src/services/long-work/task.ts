import type { Batch, FromChild, Order } from './messages.ts';
import { linesOf } from './lines.ts';
import { Outbox } from './outbox.ts';
import { runProgram } from './program.ts';
import { type RunRecord, writeRecord } from './records.ts';
import { checkReserve, makeStaging, stagingPath } from './stagings.ts';
import type { Work } from './work.ts';
import { Turns } from '../../core/turns.ts';

/** What the work is given, in the process that does it, and how to send what it has told last. */
export function openTask(
  { directory, record, reserve, isolated }: Order,
  signal: AbortSignal,
  send: (message: FromChild) => void,
): { readonly task: Work; flush(): void } {
  const outbox = new Outbox((batch: Batch) => send({ batch }));
  const tell = (line: string): void => outbox.tell(line);
  const turns = new Turns();
  let recorded: RunRecord = record;
  const task: Work = {
    run: record.run,
    signal,
    hasOwnMounts: isolated,
    tell: (line) => linesOf(line).forEach(tell),
    progress: (done, of) => outbox.progress(done, of),
    staging: (beside, { movesOnly = false } = {}) =>
      turns.take(async () => {
        signal.throwIfAborted();
        const path = await stagingPath(beside, record.run, recorded.stagings.length + 1);
        if (!movesOnly) await checkReserve(beside, reserve);
        // Noted before it is there: whatever happens, the next muster knows what to remove.
        recorded = { ...recorded, stagings: [...recorded.stagings, path] };
        await writeRecord(directory, recorded);
        await makeStaging(path);
        if (!movesOnly) send({ staging: path });
        return path;
      }),
    program: (file, args, options = {}) => runProgram(file, args, options, { signal, isolated, tell }),
  };
  return { task, flush: () => outbox.flush() };
}
