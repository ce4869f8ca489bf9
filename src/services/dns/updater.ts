import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import type { DnsClient } from '../../protocols/dns/client.ts';
import { rcode } from '../../protocols/dns/codes.ts';
import { DnsFault } from '../../protocols/dns/faults.ts';
import { type Batch, updateMessage, type UpdateOperation } from '../../protocols/dns/update.ts';
import type { Ledger } from './ledger.ts';
import { storageFault } from './storage-fault.ts';
import type { Turns } from '../../core/turns.ts';
import { type Change, type Plan, planUpdate } from './update-plan.ts';

/** Seconds that others may keep a record of a node. */
export const recordTtl = 3_600;

/** Each message is one transaction and one sync of the server; more than this would hardly fit into one. */
const recordsPerMessage = 1_000;
/**
 * Messages under way at once, each on a connection of its own: the second answer on one connection would wait until the first is
 * acknowledged, which takes the kernel 40 ms.
 */
export const messagesUnderWay = 4;
/** Milliseconds before each further try: a name server that died is back in that time. */
const pauses = [300, 1_200, 3_000];

interface Request {
  readonly change: Change;
  resolve(warnings: readonly string[]): void;
  reject(error: unknown): void;
}

/**
 * Sends changes to one server. What is asked for while others are under way goes out together afterwards, so many requests at once
 * cost few messages.
 */
export class Updater {
  readonly #clients: readonly DnsClient[];
  readonly #ledger: Ledger;
  readonly #turns: Turns;
  /** How messages name the server. */
  readonly #server: string;
  #waiting: Request[] = [];

  constructor(clients: readonly DnsClient[], ledger: Ledger, turns: Turns, server: string) {
    this.#clients = clients;
    this.#ledger = ledger;
    this.#turns = turns;
    this.#server = server;
  }

  /** Resolves with warnings when the server has done it all. */
  submit(change: Change): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      void this.#turns.take(() => this.#flush());
    });
  }

  /** The same for a change that depends on what others do: it is computed when its turn has come. */
  submitComputed(compute: () => Promise<Change>): Promise<readonly string[]> {
    return this.#turns.take(async () => {
      const change = await compute();
      return new Promise((resolve, reject) => {
        this.#serve([{ change, resolve, reject }]).catch(reject);
      });
    });
  }

  async #flush(): Promise<void> {
    const requests = this.#waiting;
    this.#waiting = [];
    const batches = disjoint(requests);
    for (const batch of batches) await this.#serve(batch);
  }

  /** All requests together; if the server refuses something, each by itself, so that only the one at fault fails. */
  async #serve(requests: readonly Request[]): Promise<void> {
    const planned: { request: Request; plan: Plan }[] = [];
    for (const request of requests) {
      try {
        planned.push({ request, plan: planUpdate(this.#ledger, request.change) });
      } catch (error) {
        request.reject(error);
      }
    }
    if (planned.length === 0) return;
    try {
      await this.#send(planned);
      for (const { request, plan } of planned) request.resolve(plan.warnings);
    } catch (error) {
      const isTheirs = error instanceof DnsFault && error.kind === 'refused';
      if (planned.length > 1 && isTheirs) {
        for (const { request } of planned) await this.#serve([request]);
      } else for (const { request } of planned) request.reject(this.#fault(error));
    }
  }

  async #send(planned: readonly { readonly request: Request; readonly plan: Plan }[]): Promise<void> {
    const zones = new Map<string, UpdateOperation[]>();
    for (const { request, plan } of planned) {
      for (const operation of plan.operations) {
        const zone = request.change.zoneOf(operation.name);
        if (zone === undefined) continue;
        const operations = zones.get(zone);
        if (operations) operations.push(operation);
        else zones.set(zone, [operation]);
      }
    }
    await this.#ledger.set(new Map(planned.flatMap(({ plan }) => [...plan.before])));
    await this.#sendAll(zones);
    await this.#ledger.set(new Map(planned.flatMap(({ plan }) => [...plan.after])));
  }

  async #sendAll(zones: ReadonlyMap<string, UpdateOperation[]>): Promise<void> {
    const batches = inTurn([...zones].map(([zone, operations]) => batchesOf(zone, operations)));
    let failed = false;
    const worker = async (client: DnsClient): Promise<void> => {
      for (const { zone, batch } of batches) {
        if (failed) return;
        try {
          await sendOne(client, zone, batch);
        } catch (error) {
          failed = true;
          throw error;
        }
      }
    };
    const ends = await Promise.allSettled(this.#clients.map(worker));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  #fault(error: unknown): unknown {
    if (!(error instanceof DnsFault)) return storageFault(error);
    const what =
      error.kind === 'unreachable' || error.kind === 'late'
        ? `The name server ${this.#server} cannot be reached: ${error.message}.`
        : `The name server ${this.#server} has not made the change: ${error.message}.`;
    return new Fault('unavailable', [what, remedy(error)], { cause: error, retryAfter: 5 });
  }
}

/** Updates say what shall be, so sending one twice does no harm. */
async function sendOne(client: DnsClient, zone: string, batch: Batch): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await client.update(batch);
    } catch (error) {
      const wait = pauses[tries];
      if (!(error instanceof DnsFault) || wait === undefined || !mayPass(error)) throw inZone(error, zone);
      await pause(wait);
    }
  }
}

const mayPass = ({ kind, code }: DnsFault): boolean => kind === 'unreachable' || code === rcode.servfail;

function inZone(error: unknown, zone: string): unknown {
  if (!(error instanceof DnsFault) || error.kind !== 'refused') return error;
  return new DnsFault(error.kind, `zone ${zone}: ${error.message}`, error.code, error);
}

function remedy({ kind, code }: DnsFault): string {
  if (kind === 'refused' && code === rcode.notauth)
    return 'If the zone is new, make it with POST /services/dns first; a server elsewhere must have it already.';
  return 'Nothing else is lost: repeat the request when the server is well; POST /services/dns sets up the one on this machine.';
}

/** Two changes of one node, or of one name, must follow each other; all others can go together. */
function disjoint(requests: readonly Request[]): (readonly Request[])[] {
  if (requests.length === 1) return [requests];
  const batches: Request[][] = [];
  let taken = new Set<string>();
  for (const request of requests) {
    const marks = [...request.change.owners].flatMap(([owner, records]) => [
      `node ${owner}`,
      ...[...records.values()].map(({ name }) => name),
    ]);
    if (batches.length === 0 || marks.some((mark) => taken.has(mark))) {
      batches.push([]);
      taken = new Set();
    }
    batches.at(-1)!.push(request);
    for (const mark of marks) taken.add(mark);
  }
  return batches;
}

/** What concerns one name stays together and in order: removals first, since a name cannot be an alias and a host even for a moment. */
function* batchesOf(zone: string, operations: UpdateOperation[]): Iterable<{ zone: string; batch: Batch }> {
  const isMixed = operations.some(({ remove }) => remove !== operations[0]!.remove);
  if (isMixed)
    operations.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : Number(b.remove) - Number(a.remove)));
  for (let from = 0; from < operations.length; ) {
    let batch = updateMessage(zone, operations, from, recordsPerMessage, recordTtl);
    let whole = batch.taken;
    while (isMixed && whole > 1 && operations[from + whole - 1]!.name === operations[from + whole]?.name) whole--;
    if (whole < batch.taken) batch = updateMessage(zone, operations, from, whole, recordTtl);
    yield { zone, batch };
    from += batch.taken;
  }
}

/** One of each in turn, so that the server can work on several zones at once; shared by all who iterate over it. */
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
