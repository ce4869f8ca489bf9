import { Fault } from '../core/errors.ts';
import { NamedSlots } from '../core/limiter.ts';
import { unlessAborted, within } from '../core/waiting.ts';
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

interface Surroundings {
  readonly reports: BootReports;
  readonly status: Pick<NodeStatus, 'note' | 'flush'>;
  /** Whether machines can fetch anything here. */
  isServed(): boolean;
  /** Since when the node's system runs, as far as anything shows. */
  closedSince(node: string): Date | undefined;
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

  /** Takes a node for a caller, who gives it back by `release`. It has so many seconds to boot, or those of the setting. */
  claim(node: string, user: string, seconds = this.#timeout): BootWatch {
    this.checkFree(node);
    const watch = new BootWatch(node, user, seconds, this.#surroundings);
    this.#watches.set(node, watch);
    return watch;
  }

  /** Refuses a node that somebody has claimed. */
  checkFree(node: string): void {
    const other = this.#watches.get(node);
    if (other)
      throw new Fault('conflict', `user "${other.user}" has been provisioning it since ${other.since.toISOString()}.`);
  }

  /** By then somebody else may have the node. */
  release(watch: BootWatch): void {
    if (this.#watches.get(watch.node) === watch) this.#watches.delete(watch.node);
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

  /** Resolves when the status of nodes is to be seen. */
  flush(): Promise<void> {
    return this.#surroundings.status.flush();
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
  readonly user: string;
  readonly since = new Date();
  readonly #seconds: number;
  readonly #surroundings: Surroundings;
  readonly #ended = Promise.withResolvers<void>();
  /** What it is to boot, and since when what it does counts. */
  #boots: { readonly state: string; readonly from: Date } | undefined;
  #isHeard = false;

  constructor(node: string, user: string, seconds: number, surroundings: Surroundings) {
    this.node = node;
    this.user = user;
    this.#seconds = seconds;
    this.#surroundings = surroundings;
    this.#ended.promise.catch(() => undefined);
  }

  /** What the node does from now on counts. */
  begin(state: string): void {
    this.#boots = { state, from: new Date() };
  }

  hear({ step, complete, leadsTo }: BootNote): void {
    if (!this.#boots) return;
    this.#isHeard = true;
    if (step === 'failed' || leadsTo === 'failed') this.#ended.reject(this.#fault('invalid', 'its boot has failed'));
    else if (step === goalOf(this.#boots.state) && complete !== false) this.#ended.resolve();
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
    const late = (): Fault => this.#fault('deadline', `it has not booted within ${this.#seconds} seconds`);
    await within(this.#seconds * 1_000, late, signal, (stop) => unlessAborted(this.#ended.promise, stop));
  }

  #fault(kind: 'invalid' | 'deadline' | 'unavailable', what: string): Fault {
    const { reports, isServed, closedSince } = this.#surroundings;
    const { state, from } = this.#boots ?? { state: '', from: this.since };
    const boot = reports.of(this.node);
    const notes = boot?.notes.filter(({ at }) => at >= from) ?? [];
    const why = diagnose(boot && { ...boot, notes }, {
      state,
      isServed: isServed(),
      answered: undefined,
      foreign: reports.foreignOf(this.node),
      closedSince: closedSince(this.node),
      now: new Date(),
    });
    return new Fault(kind, [`it was powered on, and ${what}.`, why]);
  }
}
