import { type Batch, updateMessage } from '../../protocols/dns/update.ts';
import type { GuardedOperation } from './guards.ts';

/** Seconds that others may keep a record of a node. */
export const recordTtl = 3_600;

/** Each message is one transaction and one sync of the server; more than this would hardly fit into one. */
const recordsPerMessage = 1_000;

export interface Sending {
  readonly zone: string;
  readonly batch: Batch;
  readonly operations: readonly GuardedOperation[];
}

/** The messages for operations, one zone after the other in turn, so that the server can work on several at once. */
export const batchesFor = (zones: ReadonlyMap<string, GuardedOperation[]>): Generator<Sending> =>
  inTurn([...zones].map(([zone, operations]) => batchesOf(zone, operations)));

/** What concerns one name stays together and in order: removals first, since a name cannot be an alias and a host even for a moment. */
function* batchesOf(zone: string, operations: GuardedOperation[]): Iterable<Sending> {
  const isMixed = operations.some(({ remove }) => remove !== operations[0]!.remove);
  if (isMixed)
    operations.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : Number(b.remove) - Number(a.remove)));
  for (let from = 0; from < operations.length; ) {
    let batch = updateMessage(zone, operations, from, recordsPerMessage, recordTtl);
    let whole = batch.taken;
    while (isMixed && whole > 1 && operations[from + whole - 1]!.name === operations[from + whole]?.name) whole--;
    if (whole < batch.taken) batch = updateMessage(zone, operations, from, whole, recordTtl);
    yield { zone, batch, operations: operations.slice(from, from + batch.taken) };
    from += batch.taken;
  }
}

/** One of each in turn; shared by all who iterate over it. */
function* inTurn<T>(sources: readonly Iterable<T>[]): Generator<T> {
  let open = sources.map((source) => source[Symbol.iterator]());
  while (open.length > 0) {
    const left: Iterator<T>[] = [];
    for (const iterator of open) {
      const next = iterator.next();
      if (next.done) continue;
      yield next.value;
      left.push(iterator);
    }
    open = left;
  }
}
