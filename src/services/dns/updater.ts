import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import type { DnsClient } from '../../protocols/dns/client.ts';
import { isUnmet, rcode } from '../../protocols/dns/codes.ts';
import { DnsFault } from '../../protocols/dns/faults.ts';
import type { Batch, Requirement } from '../../protocols/dns/update.ts';
import { batchesFor } from './batches.ts';
import type { GuardedOperation } from './guards.ts';
import type { Ledger, Records } from './ledger.ts';
import { lookAt, type Refusal, yieldTo } from './obstacles.ts';
import { inZone, serviceFault } from './server-fault.ts';
import type { Turns } from '../../core/turns.ts';
import { type Change, type Plan, planUpdate } from './update-plan.ts';

/**
 * Messages under way at once, each on a connection of its own: the second answer on one connection would wait until the first is
 * acknowledged, which takes the kernel 40 ms.
 */
export const messagesUnderWay = 4;
/** Milliseconds before each further try: a name server that died is back in that time. */
const pauses = [300, 1_200, 3_000];
/** How often names are looked at and the rest is sent again, while others change the same names. */
const mostRounds = 6;
const mostSentences = 20;

interface Request {
  readonly change: Change;
  resolve(warnings: readonly string[]): void;
  reject(error: unknown): void;
}

interface Planned {
  readonly request: Request;
  /** What the nodes had before. */
  readonly former: ReadonlyMap<string, Records>;
  readonly change: Change;
  readonly plan: Plan;
  /** What could not be done because of others' records. */
  readonly sentences: readonly string[];
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
    const planned: Planned[] = [];
    for (const request of requests) {
      try {
        const { change } = request;
        const former = new Map([...change.owners.keys()].map((owner) => [owner, this.#ledger.of(owner)]));
        planned.push({ request, former, change, plan: planUpdate(this.#ledger, change), sentences: [] });
      } catch (error) {
        request.reject(error);
      }
    }
    if (planned.length === 0) return;
    try {
      for (const { request, plan, sentences } of await this.#carryOut(planned)) {
        if (sentences.length === 0) request.resolve(plan.warnings);
        else request.reject(this.#inTheWay(sentences));
      }
    } catch (error) {
      const isTheirs = error instanceof DnsFault && error.kind === 'refused';
      if (planned.length > 1 && isTheirs) {
        for (const { request } of planned) await this.#serve([request]);
      } else for (const { request } of planned) request.reject(serviceFault(this.#server, error));
    }
  }

  /** Sends it all; where records of others stand in the way, what remains. */
  async #carryOut(planned: readonly Planned[]): Promise<readonly Planned[]> {
    const states = new Map<string, Requirement>();
    const obstacles = new Map<string, readonly string[]>();
    let current = planned;
    for (let rounds = 0; rounds < mostRounds; rounds++) {
      const refusals = await this.#send(current, states);
      if (refusals.length === 0) return current;
      const found = await lookAt(this.#clients, refusals);
      for (const [name, state] of found.states) states.set(name, state);
      for (const [name, there] of found.obstacles) obstacles.set(name, there);
      current = current.map((each) => {
        const { owners, sentences } = yieldTo(obstacles, each.change.owners, each.former);
        const change = { ...each.change, owners };
        const plan = planUpdate(this.#ledger, change);
        return { ...each, change, plan, sentences: [...each.sentences, ...sentences] };
      });
    }
    throw new DnsFault('refused', 'somebody else is changing the same names again and again');
  }

  /** Resolves with the messages that were refused because names are not as they are required to be. */
  async #send(planned: readonly Planned[], states: ReadonlyMap<string, Requirement>): Promise<Refusal[]> {
    const first = new Map<string, GuardedOperation[]>();
    const zones = new Map<string, GuardedOperation[]>();
    for (const { change, plan } of planned) {
      for (const [list, into] of [
        [plan.first, first],
        [plan.operations, zones],
      ] as const) {
        for (const operation of list) {
          const zone = change.zoneOf(operation.name);
          if (zone === undefined) continue;
          const state = operation.remove ? undefined : states.get(operation.name);
          const whole = state === undefined ? operation : { ...operation, requires: state };
          const operations = into.get(zone);
          if (operations) operations.push(whole);
          else into.set(zone, [whole]);
        }
      }
    }
    await this.#ledger.set(new Map(planned.flatMap(({ plan }) => [...plan.before])));
    if (first.size > 0) await this.#sendAll(first);
    const refusals = await this.#sendAll(zones);
    if (refusals.length === 0) await this.#ledger.set(new Map(planned.flatMap(({ plan }) => [...plan.after])));
    return refusals;
  }

  async #sendAll(zones: ReadonlyMap<string, GuardedOperation[]>): Promise<Refusal[]> {
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
    const ends = await Promise.allSettled(this.#clients.map(worker));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return refusals;
  }

  #inTheWay(sentences: readonly string[]): Fault {
    const shown = sentences.slice(0, mostSentences);
    if (sentences.length > shown.length) shown.push(`${sentences.length - shown.length} more are left out here.`);
    return new Fault('invalid', [
      ...shown,
      `Remove those records from the name server ${this.#server}, or change the names or addresses, and repeat the request. All others have been served.`,
    ]);
  }
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

const mayPass = ({ kind, code }: DnsFault): boolean => kind === 'unreachable' || code === rcode.servfail;

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
