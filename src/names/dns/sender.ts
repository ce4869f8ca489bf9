import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import type { DnsClient } from '../../protocols/dns/client.ts';
import { DnsFault, isUnmet, rcode } from '../../protocols/dns/names.ts';
import { type Batch, updateMessage } from '../../protocols/dns/update.ts';
import type { GuardedOperation, Refusal } from './obstacles.ts';
import { recordTtl } from './zone-file.ts';

/** What went wrong with a name server or with our files about it, as an error that the client understands; any other as it is. */
export const serviceFault = (server: string, error: unknown): unknown =>
  error instanceof DnsFault ? serverFault(server, error) : storageFault(error);

export function serverFault(server: string, error: DnsFault): Fault {
  const what =
    error.failure === 'unreachable' || error.failure === 'late'
      ? `The name server ${server} cannot be reached: ${error.message}.`
      : `The name server ${server} has not made the change: ${error.message}.`;
  return new Fault('unavailable', [what, remedy(error)], { cause: error, retryAfter: 5 });
}

export function inZone(error: DnsFault, zone: string): DnsFault {
  if (error.failure !== 'refused') return error;
  return new DnsFault(error.failure, `zone ${zone}: ${error.message}`, error.code, error);
}

function remedy({ failure, code }: DnsFault): string {
  const byCode = failure === 'refused' && code !== undefined ? remedies[code] : undefined;
  return (
    byCode ??
    'Nothing else is lost: repeat the request when the server works again; POST /services/dns sets up the one on this machine.'
  );
}

const keyRemedy =
  'The key of a server elsewhere is in table passwd, key omapi; POST /services/dns gives the server on this machine its key again.';

const remedies: Readonly<Record<number, string>> = {
  [rcode.refused]: 'The server must allow this key to change the zone (allow-update or update-policy).',
  [rcode.notauth]:
    'If the zone is new, make it with POST /services/dns first; a server elsewhere must have it already.',
  [rcode.badsig]: keyRemedy,
  [rcode.badkey]: keyRemedy,
};

/** An error of a file, such as a full disk, as one that the client understands; any other as it is. */
export function storageFault(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Fault) return error;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const where = path === undefined ? 'The files of the DNS service' : path;
  return new Fault(
    'unavailable',
    `${where} cannot be written (${code}); what is served now stays. Free some space or correct the permissions, and repeat the request.`,
    { cause: error },
  );
}

/** Messages at once, each on its own connection: on one the second answer would wait 40 ms for an acknowledgement. */
export const messagesUnderWay = 4;
/** Milliseconds before each further try: a name server that died is back in that time. */
const pauses = [300, 1_200, 3_000];

/** Sends the operations of zones. Resolves with the messages that were refused because names are not as they are required to be. */
export async function sendAll(
  clients: readonly DnsClient[],
  zones: ReadonlyMap<string, GuardedOperation[]>,
): Promise<Refusal[]> {
  const batches = batchesFor(zones);
  const refusals: Refusal[] = [];
  let failed = false;
  const worker = async (client: DnsClient): Promise<void> => {
    for (const { zone, batch, operations } of batches) {
      if (failed) return;
      try {
        await sendOne(client, zone, batch);
      } catch (error) {
        if (error instanceof DnsFault && isUnmet(error.code)) {
          refusals.push({ zone, operations });
          continue;
        }
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(clients.map(worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return refusals;
}

/** Updates say what shall be, so sending one twice does no harm. */
async function sendOne(client: DnsClient, zone: string, batch: Batch): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await client.update(batch);
    } catch (error) {
      const wait = pauses[tries];
      if (!(error instanceof DnsFault)) throw error;
      if (wait === undefined || !mayPass(error)) throw inZone(error, zone);
      await pause(wait);
    }
  }
}

const mayPass = ({ failure, code }: DnsFault): boolean => failure === 'unreachable' || code === rcode.servfail;

/** Each message is one transaction and one sync of the server; more than this would hardly fit into one. */
const recordsPerMessage = 1_000;

interface Sending {
  readonly zone: string;
  readonly batch: Batch;
  readonly operations: readonly GuardedOperation[];
}

/** The messages for operations, one zone after the other in turn, so that the server can work on several at once. */
const batchesFor = (zones: ReadonlyMap<string, GuardedOperation[]>): Generator<Sending> =>
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
