import { setImmediate } from 'node:timers/promises';
import type { Logger } from '../../core/log.ts';
import { ownOrigin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { type BootWorkers, bootWorkersIn, type WorkersToBootFrom } from './boot-workers.ts';
import { ownBootServer } from './plan-reservations.ts';
import { difference, type Reservation, reservationsOf, storeNextServer } from './reservations.ts';

export interface FollowerParts extends WorkersToBootFrom {
  readonly store: Store;
  readonly log: Logger;
  /** Tells whoever hears of these nodes. */
  notice(nodes: readonly string[], sentence: string): void;
}

/** Milliseconds between two looks at who serves. */
const lookEvery = 1_000;
/** Looks after which it is looked whatever has changed: groups of nodes, for instance. */
const fullLook = 60;
/** Rests so many times as long as a look took: with many nodes that change all the time it takes a fifth of a processor at most. */
const restFactor = 4;
/** Milliseconds. */
const restAfterFailure = 30_000;
const nodesPerTurn = 250;
/** Nodes that a sentence names. */
const mostNamed = 5;
/** What decides which workers a node boots from, besides the workers. Status is in none of these, which changes all the time. */
const deciding = ['dhcphost', 'noderes', 'servicenode', 'hosts', 'nics', 'nodegroup', 'networks', 'site'];

/** Nodes that get another server of boot files. */
interface Move {
  readonly nodes: readonly string[];
  /** Undefined: the server of their network. */
  readonly worker: string | undefined;
}

/**
 * Has nodes boot from the next of their workers when the first is away, and from the first again when it is back: it writes into their
 * reservations what makedhcp would. Whoever has Kea follows the reservations.
 */
export class BootFollower {
  readonly #parts: FollowerParts;
  #before = '';
  #rows: readonly unknown[] = [];
  #looks = 0;
  /** There were no service nodes at the last look. */
  #isWithout = false;
  #isLooking = false;
  #restsUntil = 0;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  /** Returns what ends it. */
  start(): () => void {
    const { log, timeout } = this.#parts;
    let timer: NodeJS.Timeout | undefined;
    const look = (): void => {
      this.#look().catch((error: unknown) => {
        log.error({ err: error }, 'nodes could not be given another server of boot files');
        this.#restsUntil = performance.now() + restAfterFailure;
      });
    };
    // Workers that are there have not all been heard of before.
    const begin = setTimeout(() => (timer = setInterval(look, lookEvery).unref()), timeout).unref();
    return () => {
      clearTimeout(begin);
      clearInterval(timer);
      this.#rows = [];
    };
  }

  async #look(): Promise<void> {
    if (this.#isLooking || performance.now() < this.#restsUntil) return;
    const { store, workers, timeout } = this.#parts;
    const snapshot = store.current;
    // Without service nodes one look is enough: it gives nodes of those that were removed back to the server.
    if (snapshot.rows('servicenode').size === 0 && this.#rows.length > 0 && this.#isWithout) return;
    this.#isWithout = snapshot.rows('servicenode').size === 0;
    const serving = workers
      .list()
      .filter(({ name }) => workers.isServing(name, 'boot', timeout))
      .map(({ name }) => name)
      .toSorted()
      .join(' ');
    const rows = deciding.map((table) => snapshot.rows(table));
    const isSame = serving === this.#before && rows.every((each, i) => each === this.#rows[i]);
    if (isSame && ++this.#looks < fullLook) return;
    this.#looks = 0;
    this.#isLooking = true;
    const begun = performance.now();
    try {
      await this.#follow(snapshot);
      [this.#before, this.#rows] = [serving, rows];
    } finally {
      this.#isLooking = false;
      this.#restsUntil = performance.now() + restFactor * (performance.now() - begun);
    }
  }

  async #follow(snapshot: Snapshot): Promise<void> {
    const { store, log, notice } = this.#parts;
    const changed = await changedReservations(snapshot, bootWorkersIn(this.#parts, snapshot));
    if (changed.size === 0) return;
    const moves = new Map<string | undefined, string[]>();
    await store.change(ownOrigin('boot-server'), (head) => {
      moves.clear();
      const draft = new Draft(head);
      for (const [node, { worker, nextServer, before }] of changed) {
        // Somebody has changed them meanwhile: the next look decides again.
        const { removed, added } = difference(before, reservationsOf(head).ofNode(node));
        if (removed.length + added.length > 0) continue;
        storeNextServer(draft, node, nextServer);
        const nodes = moves.get(worker);
        if (nodes) nodes.push(node);
        else moves.set(worker, [node]);
      }
      return draft.changes();
    });
    for (const [worker, nodes] of moves) {
      const sentence = sentenceOf({ worker, nodes });
      log.warn(sentence);
      notice(nodes, sentence);
    }
  }
}

interface Changed {
  readonly worker: string | undefined;
  /** Its address. */
  readonly nextServer: string | undefined;
  readonly before: readonly Reservation[];
}

async function changedReservations(snapshot: Snapshot, of: BootWorkers): Promise<ReadonlyMap<string, Changed>> {
  const reader = effectiveReader(snapshot);
  const changed = new Map<string, Changed>();
  let turn = 0;
  for (const [node, before] of reservationsOf(snapshot).byNode) {
    if (++turn % nodesPerTurn === 0) await setImmediate();
    if (ownBootServer(reader, node) !== undefined) continue;
    const [first] = of(node);
    const nextServer = first?.address;
    if (before.some((each) => each.ip?.family === 4 && each.nextServer !== nextServer))
      changed.set(node, { worker: first?.name, nextServer, before });
  }
  return changed;
}

function sentenceOf({ nodes, worker }: Move): string {
  const more = nodes.length > mostNamed ? ` and ${nodes.length - mostNamed} more` : '';
  const who = `${nodes.slice(0, mostNamed).join(', ')}${more} now ${nodes.length === 1 ? 'boots' : 'boot'}`;
  return worker === undefined
    ? `${who} from the server: no service node serves boot files for them.`
    : `${who} from the service node ${worker}, the first in servicenode that serves boot files.`;
}
