import { execFile } from 'node:child_process';
import { Fault } from '../../core/errors.ts';
import { KeaAway, KeaControl, KeaRefusal, keaResults } from '../../protocols/kea/control.ts';
import type { Daemon } from '../daemons/daemon.ts';
import { type KeaFiles, keepAside, putInPlace, readConfiguration, removeFile, writeCandidate } from './kea-files.ts';
import {
  type Base,
  documentText,
  type Family,
  isCopy,
  keaReservation,
  readDocument,
  subnetOf,
  withoutDatabase,
} from './document.ts';
import type { Reservation } from './reservations.ts';

/** Kea reads and checks all reservations before it answers. */
const configTimeout = 120_000;

export interface Difference {
  readonly removed: readonly Reservation[];
  readonly added: readonly Reservation[];
}

/** One of Kea's servers: its configuration file, its control socket and its process. */
export class KeaServer {
  readonly family: Family;
  readonly control: KeaControl;
  readonly files: KeaFiles;
  readonly #program: readonly string[];
  readonly #daemon: Daemon | undefined;
  #base: Base | undefined;
  /** What its file holds. */
  #written: string | undefined;
  #servesCopy = false;
  #isOutdated = false;
  /** What Kea was given last. */
  #given: string | undefined;
  #capable: { readonly pid: number; readonly commands: ReadonlySet<string> } | undefined;

  /** Without a daemon it is somebody else's task to start it. */
  constructor(family: Family, files: KeaFiles, program: readonly string[], daemon: Daemon | undefined) {
    this.family = family;
    this.files = files;
    this.control = new KeaControl(files.socket);
    this.#program = program;
    this.#daemon = daemon;
  }

  /** Finds out what it was configured to serve. */
  async load(): Promise<void> {
    this.#written = await readConfiguration(this.files.configuration);
    const read = this.#written === undefined ? undefined : readDocument(this.family, this.#written);
    this.#base = read;
    this.#isOutdated = read?.isOutdated ?? false;
    this.#servesCopy = this.#base !== undefined && isCopy(this.family, this.#written!);
  }

  /** A server that was configured runs again. */
  async resume(): Promise<void> {
    if (this.#base) await this.#daemon?.resume();
  }

  /** What it serves; undefined until it was configured. */
  get base(): Base | undefined {
    return this.#base;
  }

  /** Its reservations stand in its configuration, in place of those of a database that was away. */
  get servesCopy(): boolean {
    return this.#servesCopy;
  }

  /** Its file is what an older muster has written. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  get name(): string {
    return `kea-dhcp${this.family}`;
  }

  /** Why it does not listen everywhere it should: an interface that is down, or a right that it lacks. */
  async socketTrouble(): Promise<readonly string[]> {
    const { sockets } = ((await this.control.tell('status-get')) ?? {}) as { sockets?: { errors?: unknown } };
    return Array.isArray(sockets?.errors) ? sockets.errors.map(String) : [];
  }

  /** The process that answers; undefined if none does. */
  async pid(): Promise<number | undefined> {
    try {
      const status = (await this.control.tell('status-get')) as { pid?: unknown } | undefined;
      return typeof status?.pid === 'number' ? status.pid : 0;
    } catch (error) {
      if (error instanceof KeaAway) return undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#daemon?.close();
  }

  /** Whether Kea would take it; nothing changes. A new process is asked if possible: the running one has old interfaces. */
  async check(base: Base, reservations: Iterable<Reservation>): Promise<void> {
    const text = documentText(base, reservations);
    if (!this.#daemon && (await this.pid()) !== undefined) {
      await this.control.tell('config-test', text, configTimeout).catch((error: unknown) => this.#refused(error));
      return;
    }
    const candidate = await writeCandidate(this.files, text);
    try {
      await this.#testFile(candidate);
    } finally {
      await removeFile(candidate);
    }
  }

  /**
   * Serves the configuration from now on, also after a restart; a server that does not run is started. Returns the process that has it.
   * One that somebody else starts meanwhile may have read the file before, and is none.
   */
  async configure(base: Base, reservations: Iterable<Reservation>): Promise<number | undefined> {
    const pid = await this.pid();
    if (pid !== undefined) {
      const text = documentText(base, reservations);
      if (!(await this.#set(text))) await this.#persist(text);
      this.#base = base;
      this.#servesCopy = false;
      return pid;
    }
    const before = this.#written;
    await this.#persist(documentText(base, reservations));
    try {
      await this.#daemon?.start();
    } catch (error) {
      if (before !== undefined) await this.#persist(before);
      else await this.#forget();
      throw error;
    }
    this.#base = base;
    this.#servesCopy = false;
    return this.#daemon ? this.pid() : undefined;
  }

  /** Its networks are gone: it ends and is not started again. */
  async retire(): Promise<void> {
    if (!this.#base) return;
    this.#base = undefined;
    await this.#forget();
    await this.#daemon?.stop();
  }

  async #forget(): Promise<void> {
    await removeFile(this.files.configuration);
    this.#written = undefined;
    this.#given = undefined;
  }

  /**
   * Gives Kea the reservations: differences one by one if it can, else all. `keep` writes them for its next start. With a configuration
   * Kea opens its sockets again and loses what came meanwhile, which is a second's requests of thousands of machines; between single
   * commands it answers.
   */
  async update(all: Iterable<Reservation>, different: Difference | undefined): Promise<void> {
    const text = documentText(this.#base!, all);
    // Kea 2.7.7 and later have the commands in a library that everybody may use.
    if (different && (await this.offers('reservation-add', 'reservation-del'))) await this.#updateSingly(different);
    else await this.#set(text);
    this.#given = text;
  }

  async keep(): Promise<void> {
    if (this.#given !== undefined && this.#given !== this.#written) await this.#persist(this.#given);
  }

  /**
   * The database of reservations is away: Kea serves these from its configuration until `configure`, which is what it finds when it is
   * started meanwhile too.
   */
  async serveCopy(all: Iterable<Reservation>): Promise<void> {
    const text = documentText(withoutDatabase(this.#base!), all);
    if ((await this.pid()) !== undefined) await this.#set(text);
    this.#servesCopy = true;
    if (text !== this.#written) await this.#persist(text);
  }

  /**
   * Kea hears nobody while it reads a configuration, and reads it from its file in less than half the time that it takes from its socket.
   * Where the file cannot be written Kea serves the new state all the same, and `keep` says so. Returns whether the file has it.
   */
  async #set(text: string): Promise<boolean> {
    const before = this.#written;
    const inFile = this.#daemon !== undefined && (await this.#tryPersist(text));
    try {
      if (inFile) await this.control.tell('config-reload', undefined, configTimeout);
      else await this.control.tell('config-set', text, configTimeout);
    } catch (error) {
      if (inFile && error instanceof KeaRefusal && before !== undefined) await this.#persist(before);
      this.#refused(error);
    }
    return inFile;
  }

  async #tryPersist(text: string): Promise<boolean> {
    try {
      await this.#persist(text);
      return true;
    } catch {
      return false;
    }
  }

  async #persist(text: string): Promise<void> {
    const file = this.files.configuration;
    // What somebody else has written, such as the distribution's example, is kept.
    if (this.#written !== undefined && !this.#base && !readDocument(this.family, this.#written)) await keepAside(file);
    await putInPlace(await writeCandidate(this.files, text), file);
    this.#written = text;
    this.#given = undefined;
    this.#isOutdated = false;
  }

  #refused(error: unknown): never {
    throw error instanceof KeaRefusal
      ? new Refused(`${this.name} refuses it, and keeps what it has: ${error.message}`)
      : error;
  }

  /** Whether it has all these commands; many come with libraries that may not be there. */
  async offers(...wanted: readonly string[]): Promise<boolean> {
    const pid = await this.pid();
    if (pid === undefined) return false;
    if (this.#capable?.pid !== pid) {
      const listed = (await this.control.tell('list-commands')) as readonly string[];
      this.#capable = { pid, commands: new Set(listed) };
    }
    const { commands } = this.#capable;
    return wanted.every((command) => commands.has(command));
  }

  /** If one is refused, the ones before are taken back by setting what was there: the file has it still. */
  async #updateSingly({ removed, added }: Difference): Promise<void> {
    const target = { 'operation-target': 'memory' };
    try {
      for (const gone of removed) {
        const id = this.#subnetId(gone);
        if (id === undefined) continue;
        const which = { 'subnet-id': id, 'identifier-type': 'hw-address', identifier: gone.mac };
        const { result, text } = await this.control.ask('reservation-del', { ...which, ...target });
        if (result !== keaResults.done && result !== keaResults.empty) throw new KeaRefusal('reservation-del', text);
      }
      for (const come of added) {
        const id = this.#subnetId(come);
        if (id === undefined) continue;
        const reservation = { 'subnet-id': id, ...keaReservation(come) };
        await this.control.tell('reservation-add', { reservation, ...target });
      }
    } catch (error) {
      if (error instanceof KeaRefusal && this.#written !== undefined)
        await this.control.tell('config-set', this.#given ?? this.#written, configTimeout);
      this.#refused(error);
    }
  }

  /** 0 is no subnet: those that get no answer. */
  #subnetId({ ip }: Reservation): number | undefined {
    return ip ? subnetOf(this.#base!.subnets, ip)?.id : 0;
  }

  #testFile(file: string): Promise<void> {
    const [program = '', ...args] = this.#program;
    // The lock file belongs to the user that serves; of ours it would be locked out.
    const env = { ...process.env, ...this.files.environment, KEA_LOCKFILE_DIR: 'none' };
    return new Promise((resolve, reject) => {
      execFile(program, [...args, '-t', file], { env, timeout: configTimeout }, (error, stdout, stderr) => {
        if (!error) return resolve();
        // Kea may run where its programs are, and only its sockets here.
        const missing = 'code' in error && error.code === 'ENOENT';
        if (missing && !this.#daemon) return resolve();
        if (missing) return reject(this.#notInstalled());
        const said = `${stdout}\n${stderr}`.split('\n').findLast((line) => /error|failed/i.test(line)) ?? error.message;
        reject(new Refused(`${this.name} refuses it, and keeps what it has: ${said.trim().slice(0, 500)}`));
      });
    });
  }

  #notInstalled(): Fault {
    const how = `install Kea (Debian: apt install ${this.name}-server)`;
    return new Fault('unavailable', `${this.name} is not installed on this machine; ${how}.`);
  }
}

/** Kea does not take what it was given, and has what it had. */
export class Refused extends Fault {
  constructor(sentence: string) {
    super('invalid', sentence);
  }
}
