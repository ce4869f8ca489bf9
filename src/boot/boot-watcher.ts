import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { NamedSlots } from '../core/limiter.ts';
import { unlessAborted, within } from '../core/waiting.ts';
import type { HeldNames } from '../database/held-names.ts';
import type { NodeStatus } from '../nodes/index.ts';
import { diagnose } from './diagnosis.ts';
import type { BootReports, BootNote } from './reports.ts';
import type { BootSettings } from './settings.ts';
import { isRamdiskState, isTaskState } from './states.ts';

/** The step that a boot was for, by the state that the node is in. */
export function goalOf(state: string): BootNote['step'] {
  if (state === 'boot') return 'script';
  if (isTaskState(state)) return 'installed';
  return isRamdiskState(state) ? 'initrd' : 'booted';
}

/** The same of a boot from a medium, of which nobody sees what the node has loaded. */
export function goalOnMedium(state: string): BootNote['step'] {
  const goal = goalOf(state);
  return goal === 'initrd' ? 'initramfs' : goal;
}

/** Who has a node, as other servers read it. */
export interface Provisioning {
  readonly user: string;
  /** ISO time. */
  readonly since: string;
  readonly run: string;
}

export const provisioningMembers = { user: Type.String(), since: Type.String(), run: Type.String() };

/** Who wants nodes, and how many seconds each has to boot. */
export interface Claimant {
  readonly user: string;
  readonly run: string;
  readonly seconds?: number | undefined;
}

interface Surroundings {
  readonly reports: BootReports;
  readonly status: Pick<NodeStatus, 'note' | 'flush'>;
  /** Whether the node can fetch anything. */
  isServed(node: string): boolean;
  /** Since when the node's system runs, as far as anything shows. */
  closedSince(node: string): Date | undefined;
  /** Nodes that one server of a database boots at a time. */
  readonly held: HeldNames<Provisioning>;
  /** The name of this server. */
  readonly server: string;
}

/** Watches nodes boot, each for one caller at a time, and bounds how many do at once. */
export class BootWatcher {
  readonly #surroundings: Surroundings;
  readonly #timeout: number;
  readonly #slots: NamedSlots;
  readonly #watches = new Map<string, BootWatch>();
  #isClosed = false;

  constructor(surroundings: Surroundings, { atOnce, timeout }: Pick<BootSettings, 'atOnce' | 'timeout'>) {
    this.#surroundings = surroundings;
    this.#timeout = timeout;
    this.#slots = new NamedSlots(atOnce);
    surroundings.reports.subscribe((node, note) => this.#watches.get(node)?.hear(note));
  }

  /** Takes the nodes for a caller, who gives each back by `release`; answers with those that somebody else has, and why they are refused. */
  async claim(
    nodes: readonly string[],
    { user, run, seconds = this.#timeout }: Claimant,
  ): Promise<{ readonly watches: ReadonlyMap<string, BootWatch>; readonly refused: ReadonlyMap<string, Fault> }> {
    const { held } = this.#surroundings;
    const watches = new Map<string, BootWatch>();
    const refused = new Map<string, Fault>();
    for (const node of nodes) {
      const other = this.#watches.get(node);
      if (other) refused.set(node, this.#taken(other.note));
      else {
        const watch = new BootWatch(node, { user, run, seconds }, this.#surroundings);
        watches.set(node, watch);
        this.#watches.set(node, watch);
      }
    }
    try {
      const notes = new Map([...watches.values()].map((watch) => [watch.node, watch.note]));
      for (const [node, note] of await held.take(notes)) {
        refused.set(node, this.#takenElsewhere(note));
        this.#watches.delete(node);
        watches.delete(node);
      }
    } catch (error) {
      for (const watch of watches.values()) this.release(watch);
      throw error;
    }
    return { watches, refused };
  }

  /** The same without taking anything. */
  async taken(nodes: readonly string[]): Promise<ReadonlyMap<string, Fault>> {
    const here = nodes.flatMap((node): [string, Fault][] => {
      const other = this.#watches.get(node);
      return other ? [[node, this.#taken(other.note)]] : [];
    });
    const elsewhere = await this.#surroundings.held.others(nodes);
    const there = [...elsewhere].map(([node, note]) => [node, this.#takenElsewhere(note)] as const);
    return new Map([...here, ...there]);
  }

  #takenElsewhere(note: (Provisioning & { readonly server: string }) | undefined): Fault {
    if (note) return this.#taken(note, note.server);
    return new Fault(
      'conflict',
      'a server of another version is provisioning it. Send the request again when that has ended, and run the same version on all servers: GET /servers lists their versions.',
    );
  }

  #taken({ user, since, run }: Provisioning, server = this.#surroundings.server): Fault {
    return new Fault(
      'conflict',
      `user "${user}" has been provisioning it since ${since} (run ${run} at server ${server}).`,
    );
  }

  /** Gives up nodes that an earlier process of this server was booting. */
  resume(): Promise<void> {
    return this.#surroundings.held.resume();
  }

  /** By then somebody else may have the node. */
  release(watch: BootWatch): void {
    if (this.#watches.get(watch.node) !== watch) return;
    this.#watches.delete(watch.node);
    this.#surroundings.held.release(watch.node);
  }

  /** Does the work that boots a node when its turn has come; who still waits when muster is stopped has waited in vain. */
  inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#slots.take('boots', signal, () => {
      if (this.#isClosed)
        throw new Fault(
          'unavailable',
          'muster was stopped before its turn came; its boot state is set, its power is as it was.',
        );
      return work();
    });
  }

  /** Resolves when the status of nodes is to be seen, and those that were released are free at all servers. */
  async flush(): Promise<void> {
    const { status, held } = this.#surroundings;
    await Promise.all([status.flush(), held.released()]);
  }

  /** Machines go on booting; nobody learns how it ended. */
  close(): void {
    this.#isClosed = true;
    for (const watch of this.#watches.values()) watch.leave();
  }
}

/** The boot of one node, from before it is powered on. */
export class BootWatch {
  readonly node: string;
  readonly note: Provisioning;
  /** That the node has to boot. */
  readonly seconds: number;
  readonly #surroundings: Surroundings;
  readonly #ended = Promise.withResolvers<void>();
  /** What it is to boot, and since when what it does counts. */
  #boots: { readonly state: string; readonly goal: BootNote['step']; readonly from: Date } | undefined;
  #isHeard = false;

  constructor(
    node: string,
    { user, run, seconds }: Claimant & { readonly seconds: number },
    surroundings: Surroundings,
  ) {
    this.node = node;
    this.note = { user, run, since: new Date().toISOString() };
    this.seconds = seconds;
    this.#surroundings = surroundings;
    this.#ended.promise.catch(() => undefined);
  }

  /** What the node does from now on counts. */
  begin(state: string, goal = goalOf(state)): void {
    this.#boots = { state, goal, from: new Date() };
  }

  hear({ step, complete, leadsTo }: BootNote): void {
    if (!this.#boots) return;
    this.#isHeard = true;
    if (step === 'failed' || leadsTo === 'failed') this.#ended.reject(this.#fault('invalid', 'its boot has failed'));
    else if (step === this.#boots.goal && complete !== false) this.#ended.resolve();
  }

  /** It may have begun to boot before that was sure, and then its status says more already. */
  poweredOn(): void {
    if (!this.#isHeard) this.#surroundings.status.note(this.node, 'powering-on');
  }

  leave(): void {
    this.#ended.reject(this.#fault('unavailable', 'muster was stopped; the machine goes on'));
  }

  /** Resolves when the boot has come to its goal. */
  async end(signal: AbortSignal): Promise<void> {
    const late = (): Fault => this.#fault('deadline', `it has not booted within ${this.seconds} seconds`);
    await within(this.seconds * 1_000, late, signal, (stop) => unlessAborted(this.#ended.promise, stop));
  }

  #fault(kind: 'invalid' | 'deadline' | 'unavailable', what: string): Fault {
    const { reports, isServed, closedSince } = this.#surroundings;
    const { state, from } = this.#boots ?? { state: '', from: new Date(this.note.since) };
    const boot = reports.of(this.node);
    const notes = boot?.notes.filter(({ at }) => at >= from) ?? [];
    const why = diagnose(boot && { ...boot, notes }, {
      state,
      isServed: isServed(this.node),
      answered: undefined,
      foreign: reports.foreignOf(this.node),
      closedSince: closedSince(this.node),
      now: new Date(),
    });
    return new Fault(kind, [`it was powered on, and ${what}.`, why]);
  }
}
