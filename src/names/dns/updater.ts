import type { Turns } from '../../core/waiting.ts';
import type { DnsClient } from '../../protocols/dns/client.ts';
import { DnsFault } from '../../protocols/dns/names.ts';
import type { Requirement } from '../../protocols/dns/update.ts';
import { type GuardedOperation, lookAt, type Obstacle, obstacleFault, type Refusal, yieldTo } from './obstacles.ts';
import type { Ledger, Records } from '../ledger.ts';
import { sendAll, serviceFault } from './sender.ts';
import { type Change, countTogether, type Plan, planUpdate } from './update-plan.ts';

/** How often names are looked at and the rest is sent again, while others change the same names. */
const mostRounds = 6;

interface Request {
  readonly change: Change;
  resolve(warnings: readonly string[]): void;
  reject(error: unknown): void;
}

interface Planned {
  readonly request: Request;
  readonly former: ReadonlyMap<string, Records>;
  readonly change: Change;
  readonly plan: Plan;
  /** What could not be done because of others' records. */
  readonly sentences: readonly string[];
}

/** Sends changes to one server; those that come while others are under way go out together. */
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
    while (requests.length > 0) {
      const changes = requests.map(({ change }) => change);
      await this.#serve(requests.splice(0, countTogether(changes, this.#ledger)));
    }
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
        else request.reject(obstacleFault(this.#server, sentences));
      }
    } catch (error) {
      const isTheirs = error instanceof DnsFault && error.failure === 'refused';
      if (planned.length > 1 && isTheirs) {
        for (const { request } of planned) await this.#serve([request]);
      } else for (const { request } of planned) request.reject(serviceFault(this.#server, error));
    }
  }

  /** Sends it all; where records of others stand in the way, what remains. */
  async #carryOut(planned: readonly Planned[]): Promise<readonly Planned[]> {
    const states = new Map<string, Requirement>();
    const obstacles = new Map<string, Obstacle>();
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
    throw new DnsFault('refused', 'another client keeps changing the same names');
  }

  /** Resolves with the messages that were refused because names are not as they are required to be. */
  async #send(planned: readonly Planned[], states: ReadonlyMap<string, Requirement>): Promise<Refusal[]> {
    const first = byZone(planned, states, ({ plan }) => plan.first);
    const others = byZone(planned, states, ({ plan }) => plan.operations);
    await this.#ledger.set(new Map(planned.flatMap(({ plan }) => [...plan.before])));
    if (first.size > 0) await sendAll(this.#clients, first);
    const refusals = await sendAll(this.#clients, others);
    if (refusals.length === 0) await this.#ledger.set(new Map(planned.flatMap(({ plan }) => [...plan.after])));
    return refusals;
  }
}

/** Operations by their zones; what a name was seen to be is required of it. */
function byZone(
  planned: readonly Planned[],
  states: ReadonlyMap<string, Requirement>,
  operationsOf: (each: Planned) => readonly GuardedOperation[],
): Map<string, GuardedOperation[]> {
  const zones = new Map<string, GuardedOperation[]>();
  for (const each of planned) {
    for (const operation of operationsOf(each)) {
      const zone = each.change.zoneOf(operation.name);
      if (zone === undefined) continue;
      const state = operation.remove ? undefined : states.get(operation.name);
      const whole = state === undefined ? operation : { ...operation, requires: state };
      const operations = zones.get(zone);
      if (operations) operations.push(whole);
      else zones.set(zone, [whole]);
    }
  }
  return zones;
}
