import { makeDirectory } from '../../core/files.ts';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import { Turns } from '../../core/waiting.ts';
import type { Duty, Service } from '../../bus/index.ts';
import { type Daemon, type DaemonSpec, makeDaemon } from '../../names/index.ts';
import type { WorkerSettings } from '../settings.ts';
import { dhcpRelay } from './dhcp-relay.ts';
import { logServer } from './log-server.ts';
import { nameServer } from './name-server.ts';

type Served = Exclude<Service, 'boot'>;

/** What runs for each service. A daemon whose command is another one is another one: its configuration is named by its content. */
const daemonNames: Readonly<Record<Served, string>> = { dhcp: 'dhcrelay', dns: 'named', syslog: 'rsyslogd' };

interface DutiesPlace {
  readonly settings: WorkerSettings;
  /** For the files of the daemons. */
  readonly directory: string;
  readonly log: Logger;
  /** What it serves has changed. */
  changed(): void;
}

/** Milliseconds between two looks at daemons, and at what could not be started. */
const lookEvery = 5_000;
/** Milliseconds after which a server that has an earlier revision is not behind the others: the database was restored. */
const longestBehind = 15_000;

/** What this worker serves its nodes besides boot files: daemons that run as a server wants and as the settings here allow. */
export class Duties {
  readonly #place: DutiesPlace;
  readonly #services = new Map<Served, ServedDuty>();
  readonly #timer: NodeJS.Timeout;

  constructor(place: DutiesPlace) {
    this.#place = place;
    this.#timer = setInterval(() => {
      for (const duty of this.#services.values()) duty.look();
    }, lookEvery);
  }

  take(duty: Duty): void {
    const known = this.#services.get(duty.service);
    if (known) known.take(duty);
    else this.#services.set(duty.service, new ServedDuty(duty, this.#place));
  }

  get serves(): Served[] {
    return [...this.#services].flatMap(([service, { isServing }]) => (isServing ? service : []));
  }

  get problems(): string[] {
    return [...this.#services.values()].flatMap(({ problem }) => problem ?? []);
  }

  get versions(): Partial<Record<Served, string>> {
    return Object.fromEntries([...this.#services].map(([service, { version }]) => [service, version]));
  }

  /** Ends the daemons. After a kill they go on, and the next worker finds them. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#services.values()].map((duty) => duty.close()));
  }
}

class ServedDuty {
  readonly #place: DutiesPlace;
  readonly #turns = new Turns();
  #duty: Duty;
  #command = '';
  #daemon: Daemon | undefined;
  #isClosed = false;
  #isBusy = false;
  /** Since when servers have an earlier revision than the one that counts here. */
  #earlierSince: number | undefined;
  isServing = false;
  problem: string | undefined;

  constructor(duty: Duty, place: DutiesPlace) {
    this.#duty = duty;
    this.#place = place;
    this.#apply();
  }

  get version(): string {
    return this.#duty.version;
  }

  take(duty: Duty): void {
    if (duty.version === this.#duty.version) return;
    if (duty.revision < this.#duty.revision && !this.#isRestored()) return;
    this.#earlierSince = undefined;
    this.#duty = duty;
    this.#apply();
  }

  #isRestored(): boolean {
    this.#earlierSince ??= performance.now();
    return performance.now() - this.#earlierSince > longestBehind;
  }

  look(): void {
    if (this.#isBusy) return;
    if (this.problem === undefined) void this.#turns.take(() => this.#note());
    else this.#apply();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#turns.take(async () => this.#daemon?.close());
  }

  #apply(): void {
    void this.#turns.take(async () => {
      if (this.#isClosed) return;
      const { log } = this.#place;
      const before = this.problem;
      this.#isBusy = true;
      try {
        await this.#run(await planOf(this.#duty, this.#place));
        this.problem = undefined;
      } catch (error) {
        // What the settings here no longer allow ends; what a server cannot say at the moment goes on as it was.
        if (error instanceof Fault && error.kind === 'invalid') await this.#run(undefined);
        const goesOn = this.isServing ? ' What it served before goes on.' : '';
        this.problem = `${sentenceOf(error)}${goesOn}`;
        if (this.problem !== before) log.error({ err: error }, this.problem);
      } finally {
        this.#isBusy = false;
      }
      await this.#note();
      this.#place.changed();
    });
  }

  /** Undefined: nothing is to run, nor what an earlier worker has left. */
  async #run(spec: DaemonSpec | undefined): Promise<void> {
    const { log, directory } = this.#place;
    const command = spec?.command.join(' ') ?? '';
    if (spec && this.#daemon && command === this.#command) return this.#daemon.start();
    const nobody = {
      name: daemonNames[this.#duty.service],
      unit: '',
      command: [],
      ready: () => Promise.resolve(false),
    };
    if (this.#daemon || !spec) await (this.#daemon ?? makeDaemon(nobody, { how: 'process', log, directory })).stop();
    this.#daemon = undefined;
    if (!spec) return;
    makeDirectory(directory);
    this.#daemon = makeDaemon(spec, { how: 'process', log, directory });
    this.#command = command;
    await this.#daemon.start();
  }

  async #note(): Promise<void> {
    const was = this.isServing;
    this.isServing = (await this.#daemon?.isRunning()) ?? false;
    if (this.#daemon && !this.isServing)
      this.problem ??= `${daemonNames[this.#duty.service]} does not run; its log is in ${this.#place.directory}.`;
    if (was !== this.isServing) this.#place.changed();
  }
}

/** Undefined: it is not to serve that. A Fault says why it cannot. */
async function planOf(
  { service, wanted }: Duty,
  { settings, directory }: DutiesPlace,
): Promise<DaemonSpec | undefined> {
  if (wanted === null) return undefined;
  if ('objection' in wanted) throw new Fault('unavailable', wanted.objection);
  switch (service) {
    case 'dhcp':
      return dhcpRelay(wanted, settings);
    case 'dns':
      return nameServer(wanted, settings, directory);
    case 'syslog':
      return logServer(wanted, settings, directory);
  }
}

/** What a line of a list has room for. */
const sentenceOf = (error: unknown): string =>
  (error instanceof Fault ? error.message : `It failed: ${String(error)}`)
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, 600);
