import { Fault } from '../../core/errors.ts';
import { limiter } from '../../core/limiter.ts';
import type { Logger } from '../../core/log.ts';
import { ownOrigin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { SharedRecords } from '../../database/shared-records.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import type { Devices, Hardware } from '../../drivers/index.ts';
import { type Budget, budgetsIn, capTable, nodesOfBudget } from './budget-rows.ts';
import { type PowerNow, powerNow } from './power-state.ts';
import type { PowerBudgetSettings } from './settings.ts';
import { type Draw, spread, type Spread } from './spread.ts';

export interface BudgetServices {
  readonly store: Store;
  readonly shared: SharedRecords;
  /** Of this server. */
  readonly id: string;
  readonly hardware: Hardware;
  readonly devices: Pick<Devices, 'use' | 'read'>;
  readonly rangeFiles: string | undefined;
  readonly log: Logger;
  notice(nodes: readonly string[], message: string): void;
}

/** What a budget comes to, as people are shown it. */
export interface BudgetReport {
  readonly watts: number;
  readonly time: string;
  /** What all nodes draw that are known, and what they may draw at most. */
  readonly drawn: number;
  readonly bound: number;
  readonly held: boolean;
  readonly problems: readonly string[];
  readonly nodes: Readonly<Record<string, NodeReport>>;
}

export interface NodeReport {
  readonly drawn?: number;
  /** What it is capped at, or will be. */
  readonly cap?: number;
  readonly problem?: string;
}

const kind = 'power-budget';
const leastSeconds = 10;
const mostNamed = 5;
const atOnce = limiter(64);
/** A cap is changed if it is off by more than this part, so that not every flicker is sent to a BMC. */
const tolerance = 0.03;

interface Measured {
  readonly node: string;
  readonly power: PowerNow | undefined;
  readonly problem: string | undefined;
}

/** Holds the power budgets of nodes: looks at what they draw, and caps them. */
export class PowerBudgets {
  readonly #settings: PowerBudgetSettings;
  readonly #services: BudgetServices;
  /** By node. */
  readonly #highest = new Map<string, number>();
  readonly #unheld = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: PowerBudgetSettings, services: BudgetServices) {
    this.#settings = settings;
    this.#services = services;
  }

  /** Holds budgets from now on; returns what ends that. Caps stay. */
  start(): () => void {
    const over = new AbortController();
    const { store, log } = this.#services;
    let isLooking = false;
    let again = false;
    const look = (): void => {
      if (over.signal.aborted) return;
      if (isLooking) return void (again = true);
      clearTimeout(this.#timer);
      isLooking = true;
      this.#look(over.signal)
        .catch((error: unknown) => {
          if (!over.signal.aborted) log.error({ err: error }, 'power budgets could not be held');
        })
        .finally(() => {
          isLooking = false;
          if (over.signal.aborted) return;
          const wait = again ? 0 : Math.max(leastSeconds, this.#settings.seconds) * 1_000;
          again = false;
          this.#timer = setTimeout(look, wait).unref();
        });
    };
    let rows = store.current.rows('powerbudget');
    const unsubscribe = store.subscribe((current) => {
      if (current.rows('powerbudget') === rows) return;
      rows = current.rows('powerbudget');
      look();
    });
    look();
    return () => {
      unsubscribe();
      clearTimeout(this.#timer);
      over.abort(new Fault('unavailable', 'power budgets are held elsewhere now.'));
    };
  }

  /** How a budget would be spread now; changes nothing. */
  async plan(budget: Pick<Budget, 'watts'>, nodes: readonly string[], signal: AbortSignal): Promise<BudgetReport> {
    const measured = await this.#measure(this.#services.store.current, nodes, signal);
    return this.#report(budget, measured, this.#spread(budget.watts, measured));
  }

  /** What the last look at a budget found, at whichever server. */
  async lastReport(name: string): Promise<BudgetReport | undefined> {
    const record = await this.#services.shared.get(kind, name);
    return record && (JSON.parse(record.body) as BudgetReport);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { store, log, rangeFiles } = this.#services;
    const taken = new Map<string, string>();
    for (const budget of budgetsIn(store.current)) {
      let nodes: readonly string[];
      try {
        nodes = nodesOfBudget(store.current, budget.range, { rangeFiles });
      } catch (error) {
        log.warn({ err: error }, `The power budget ${budget.name} is not held.`);
        // Its caps stay: to lift them is not what a range that names a removed node means.
        for (const row of store.current.rows(capTable).values())
          if (row['budget'] === budget.name) taken.set(row['node'] ?? '', budget.name);
        continue;
      }
      const own = nodes.filter((node) => !taken.has(node));
      for (const node of own) taken.set(node, budget.name);
      await this.#hold(budget, own, signal);
    }
    await this.#giveBack(taken, signal);
  }

  async #hold(budget: Budget, nodes: readonly string[], signal: AbortSignal): Promise<void> {
    const { shared, id } = this.#services;
    const measured = await this.#measure(this.#services.store.current, nodes, signal);
    const wanted = this.#spread(budget.watts, measured);
    const failures = await this.#apply(budget, measured, wanted, signal);
    const report = this.#report(budget, measured, wanted, failures);
    const lasts = Math.max(leastSeconds, this.#settings.seconds) * 10_000;
    await shared.put([{ kind, name: budget.name, holder: id, body: JSON.stringify(report) }], lasts);
    this.#tell(budget, nodes, report);
  }

  /** Once when it can no longer be held, and once when it can again. */
  #tell({ name }: Budget, nodes: readonly string[], { held, problems }: BudgetReport): void {
    if (held === !this.#unheld.has(name)) return;
    if (held) this.#unheld.delete(name);
    else this.#unheld.add(name);
    const sentence = held
      ? `The power budget ${name} is held again.`
      : `The power budget ${name} cannot be held: ${problems.join(' ')}`;
    this.#services.log.warn(sentence);
    this.#services.notice(nodes, sentence);
  }

  async #measure(snapshot: Snapshot, nodes: readonly string[], signal: AbortSignal): Promise<readonly Measured[]> {
    const targetOf = this.#services.hardware.targets(snapshot, 'renergy', 'energy');
    const measured = await Promise.all(
      nodes.map((node) =>
        atOnce(async (): Promise<Measured> => {
          try {
            const target = await targetOf(node);
            const shown = await this.#services.devices.read(target, 'energy', by(signal), (energy) =>
              energy.read([], signal),
            );
            return { node, power: powerNow(shown), problem: undefined };
          } catch (error) {
            if (signal.aborted) throw error;
            return { node, power: undefined, problem: sentenceOf(error) };
          }
        }),
      ),
    );
    for (const { node, power } of measured)
      if (power?.drawn !== undefined) this.#highest.set(node, Math.max(power.drawn, this.#highest.get(node) ?? 0));
    return measured;
  }

  #spread(watts: number, measured: readonly Measured[]): Spread {
    const { store } = this.#services;
    const draws = measured.map(({ node, power }): Draw => {
      // A node that does not answer keeps the cap that it has.
      const kept = Number(store.current.get(capTable, node)?.['watts'] || Number.NaN);
      const highest = power || Number.isNaN(kept) ? this.#highest.get(node) : kept;
      const least = power?.least ?? this.#settings.lowest;
      const cap = power?.limit && { least, most: Math.max(least, power.most ?? Number.MAX_SAFE_INTEGER) };
      return { node, drawn: power?.drawn, highest, cap };
    });
    return spread(watts, draws);
  }

  /** First those that get less, so that all together never have more than the budget. */
  async #apply(
    { name }: Budget,
    measured: readonly Measured[],
    { caps, missing }: Spread,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const changes = measured.flatMap(({ node, power }) => {
      const to = caps.get(node);
      if (to === undefined || !power?.limit) return [];
      const from = power.limit.isOn ? power.limit.watts : undefined;
      const isNear = from !== undefined && from >= to * (1 - tolerance) && from <= to && missing === 0;
      return isNear ? [] : [{ node, to, from: from ?? Number.POSITIVE_INFINITY, former: power.limit }];
    });
    await this.#remember(name, changes);
    const failures = new Map<string, string>();
    const set = async (some: typeof changes): Promise<void> => {
      await Promise.all(
        some.map(({ node, to }) =>
          atOnce(async () => {
            const problem = await this.#set(node, to, true, signal);
            if (problem !== undefined) failures.set(node, problem);
          }),
        ),
      );
    };
    await set(changes.filter(({ from, to }) => to < from));
    // What could not be taken from one cannot be given to another.
    if (failures.size === 0) await set(changes.filter(({ from, to }) => to > from));
    return failures;
  }

  /** Before anything is sent: a cap whose former state nobody knew would stay for ever. */
  async #remember(
    budget: string,
    changes: readonly { readonly node: string; readonly to: number; readonly former: NonNullable<PowerNow['limit']> }[],
  ): Promise<void> {
    if (changes.length === 0) return;
    await this.#services.store.change(ownOrigin('power-budget'), (head) => {
      const draft = new Draft(head);
      for (const { node, to, former } of changes) {
        if (!head.get('nodelist', node)) continue;
        const known = head.get(capTable, node);
        draft.merge(capTable, node, {
          node,
          budget,
          watts: String(to),
          ...(known ? {} : { formerstatus: former.isOn ? 'on' : 'off', formervalue: String(former.watts ?? '') }),
        });
      }
      return draft.changes();
    });
  }

  /** Nodes that no budget has any more get what they had before. */
  async #giveBack(taken: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#services;
    const left = [...store.current.rows(capTable).values()].filter((row) => !taken.has(row['node'] ?? ''));
    const done: string[] = [];
    await Promise.all(
      left.map(({ node = '', formervalue = '', formerstatus }) =>
        atOnce(async () => {
          const isOn = formerstatus === 'on';
          const problem = await this.#set(node, formervalue === '' ? undefined : Number(formervalue), isOn, signal);
          if (problem === undefined) done.push(node);
          else log.warn({ node }, `The power limit of before is not there again: ${problem}`);
        }),
      ),
    );
    if (done.length === 0) return;
    await store.change(ownOrigin('power-budget'), (head) => {
      const draft = new Draft(head);
      for (const node of done) if (head.get(capTable, node)) draft.remove(capTable, node);
      return draft.changes();
    });
  }

  /** Resolves with what is wrong. */
  async #set(node: string, watts: number | undefined, isOn: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { hardware, devices, store } = this.#services;
    try {
      const target = await hardware.targets(store.current, 'renergy', 'energy')(node);
      await devices.use(target, 'energy', by(signal), async (energy) => {
        // A limit that is to be off is turned off first: some services turn it on when it is set.
        if (!isOn) await energy.set('cappingstatus', 'off', signal);
        if (watts !== undefined && isOn) await energy.set('cappingvalue', String(watts), signal);
        if (isOn) await energy.set('cappingstatus', 'on', signal);
      });
      return undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      return sentenceOf(error);
    }
  }

  #report(
    { watts }: Pick<Budget, 'watts'>,
    measured: readonly Measured[],
    { caps, uncapped, unknown, missing }: Spread,
    failures: ReadonlyMap<string, string> = new Map(),
  ): BudgetReport {
    const nodes: Record<string, NodeReport> = {};
    let drawn = 0;
    for (const { node, power, problem } of measured) {
      drawn += power?.drawn ?? 0;
      const cap = caps.get(node);
      const wrong = failures.get(node) ?? problem ?? (cap === undefined ? 'its BMC has no power limit.' : undefined);
      nodes[node] = {
        ...(power?.drawn === undefined ? {} : { drawn: power.drawn }),
        ...(cap === undefined ? {} : { cap }),
        ...(wrong === undefined ? {} : { problem: wrong }),
      };
    }
    const bound = Math.ceil([...caps.values()].reduce((sum, cap) => sum + cap, uncapped));
    const problems = [
      ...(missing > 0 ? [`${missing} W are missing: the nodes cannot be capped below ${watts + missing} W.`] : []),
      ...(unknown.length > 0
        ? [`Nobody knows how much ${some(unknown)} ${unknown.length === 1 ? 'draws' : 'draw'}.`]
        : []),
      ...(failures.size > 0 ? [`The cap of ${some([...failures.keys()])} could not be set.`] : []),
    ];
    const held = problems.length === 0;
    return { watts, time: new Date().toISOString(), drawn: Math.round(drawn), bound, held, problems, nodes };
  }
}

const by = (signal: AbortSignal): Parameters<Devices['use']>[2] => ({
  command: 'renergy',
  user: '',
  signal,
  begun: () => undefined,
});

const sentenceOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 300);

const some = (names: readonly string[]): string =>
  names.length <= mostNamed
    ? names.join(', ')
    : `${names.slice(0, mostNamed).join(', ')} and ${names.length - mostNamed} more`;
