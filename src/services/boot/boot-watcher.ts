import { Fault } from '../../core/errors.ts';
import { NamedSlots } from '../../core/slots.ts';
import { unlessAborted, within } from '../../core/waiting.ts';
import type { NodeStatus } from '../node-status.ts';
import { bootStory } from './boot-story.ts';
import type { BootNote, BootReports } from './reports.ts';

/** The step that a boot was for, by the state that the node is in. */
export function goalOf(state: string): BootNote['step'] {
  if (state === 'boot') return 'script';
  if (/^run(cmd|image)=/.test(state)) return 'installed';
  return ['shell', 'standby', 'shutdown'].includes(state) ? 'initrd' : 'booted';
}

/** Watches nodes boot, each for one caller at a time, and bounds how many do at once. */
export class BootWatcher {
  readonly #reports: BootReports;
  readonly #status: Pick<NodeStatus, 'note' | 'flush'>;
  readonly #slots: NamedSlots;
  readonly #watches = new Map<string, BootWatch>();

  constructor(reports: BootReports, status: Pick<NodeStatus, 'note' | 'flush'>, atOnce: number) {
    this.#reports = reports;
    this.#status = status;
    this.#slots = new NamedSlots(atOnce);
    reports.subscribe((node, note) => this.#watches.get(node)?.hear(note));
  }

  /** Takes a node for a caller; it is given back by `release`. */
  claim(node: string, user: string): BootWatch {
    const other = this.#watches.get(node);
    if (other)
      throw new Fault(
        'conflict',
        `it is being provisioned by user "${other.user}" since ${other.since.toISOString()}.`,
      );
    const watch = new BootWatch(node, user, this.#reports);
    this.#watches.set(node, watch);
    return watch;
  }

  release({ node }: BootWatch): void {
    this.#watches.delete(node);
  }

  /** Its machine was powered on; it may have begun to boot before that was sure, and then its status says more already. */
  poweredOn({ node, isHeard }: BootWatch): void {
    if (!isHeard) this.#status.note(node, 'powering-on');
  }

  /** Resolves when the status of nodes is to be seen. */
  flush(): Promise<void> {
    return this.#status.flush();
  }

  /** Does the work that boots a node when its turn has come. */
  inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#slots.take('boots', signal, work);
  }

  /** Machines go on booting; nobody is told how it ended. */
  close(): void {
    for (const watch of this.#watches.values()) watch.leave();
  }
}

export class BootWatch {
  readonly node: string;
  readonly user: string;
  readonly since = new Date();
  readonly #reports: BootReports;
  readonly #ended = Promise.withResolvers<void>();
  #began: Date | undefined;
  #goal: BootNote['step'] = 'booted';
  #isHeard = false;

  constructor(node: string, user: string, reports: BootReports) {
    this.node = node;
    this.user = user;
    this.#reports = reports;
    this.#ended.promise.catch(() => undefined);
  }

  /** Whether the node has done anything since. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  /** What the node does from now on counts. */
  begin(goal: BootNote['step']): void {
    this.#began = new Date();
    this.#goal = goal;
  }

  hear({ step, complete, text, leadsTo }: BootNote): void {
    if (this.#began === undefined) return;
    this.#isHeard = true;
    if (step === this.#goal && complete !== false && leadsTo !== 'failed') this.#ended.resolve();
    else if (step === 'failed') this.#ended.reject(this.#fault('invalid', `the node says: ${text ?? 'it failed'}`));
    else if (leadsTo === 'failed')
      this.#ended.reject(this.#fault('invalid', `it was told to boot nothing; GET /nodes/${this.node}/boot tells why`));
  }

  leave(): void {
    this.#ended.reject(this.#fault('unavailable', 'muster was stopped, the machine goes on'));
  }

  /** Resolves when the boot has come to its goal. */
  async end(seconds: number, signal: AbortSignal): Promise<void> {
    const late = (): Fault => this.#fault('deadline', `it has had ${seconds} seconds`);
    await within(seconds * 1_000, late, signal, (stop) => unlessAborted(this.#ended.promise, stop));
  }

  #fault(kind: 'invalid' | 'deadline' | 'unavailable', why: string): Fault {
    const began = this.#began ?? this.since;
    const notes = (this.#reports.of(this.node)?.notes ?? []).filter(({ at }) => at >= began);
    return new Fault(kind, `powered on, ${bootStory(notes)}: ${why}.`);
  }
}
