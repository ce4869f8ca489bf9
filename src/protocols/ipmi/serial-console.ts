import { Fault } from '../../core/errors.ts';
import { onAbort } from '../../core/waiting.ts';
import { unanswered } from './commands/ask.ts';
import { getDeviceId } from './commands/device.ts';
import { activateSerial, deactivateSerial, serialSession, sessionUser } from './commands/payload.ts';
import { cancelled, consoleLost, stopping } from './faults.ts';
import type { Peer } from './peer.ts';
import type { Talker } from './wire.ts';
import { SerialSession } from './serial-session.ts';

export interface SerialOptions {
  /** Whoever has the console loses it. */
  readonly takeOver: boolean;
  /** A session of ours that was lost elsewhere, which the BMC may still have. */
  readonly lost?: number | undefined;
  /** Characters of the machine, each once and in order. */
  output(characters: Uint8Array): void;
  /** Called once, when it is closed after it was open: with the reason if it was not `close` that did it. */
  closed(reason?: Fault): void;
}

export interface SerialConsole {
  /** What the BMC calls the session. */
  readonly session: number;
  /** Resolves when the BMC has taken them. */
  write(characters: Uint8Array): Promise<void>;
  sendBreak(): Promise<void>;
  close(): Promise<void>;
}

/** What is known of the consoles of one BMC before this one. */
export interface SerialPast {
  /** The session of one that was lost, which the BMC may still have. */
  lost: number | undefined;
}

/** Another may activate it again between our two commands. */
const mostTakeOvers = 3;

/** Opens the console of one BMC in a session of its own. */
export class SerialOpening {
  readonly talker: Talker;
  readonly #peer: Peer;
  readonly #session: SerialSession;
  readonly #options: SerialOptions;
  readonly #past: SerialPast;
  readonly #always = new AbortController().signal;
  #isOpen = false;
  /** What the BMC says of whose the console is; undefined if it is of no help. */
  #owner: number | undefined;

  constructor(peer: Peer, options: SerialOptions, past: SerialPast, ended: () => void) {
    this.#peer = peer;
    this.#options = options;
    this.#past = past;
    const owner = {
      output: (characters: Buffer) => options.output(characters),
      check: () => this.#check(),
      lost: (fault: Fault) => this.#lost(fault),
    };
    this.talker = this.#session = new SerialSession(peer, owner, ended);
  }

  async open(signal: AbortSignal): Promise<SerialConsole> {
    const session = this.#session;
    const stop = (): void => session.end(cancelled(this.#peer.where, signal));
    if (signal.aborted) stop();
    const ignore = onAbort(signal, stop);
    try {
      await session.open();
      await session.raise();
      const size = await this.#activate();
      this.#past.lost = undefined;
      const owner = await serialSession(session, this.#always);
      this.#owner = owner === 0 ? undefined : owner;
      session.line.start(size);
      session.watch();
      this.#isOpen = true;
      return this.#console();
    } catch (error) {
      session.end(error instanceof Fault ? error : cancelled(this.#peer.where, signal));
      throw error;
    } finally {
      ignore();
    }
  }

  /** The process ends. */
  end(): void {
    this.#session.end(stopping());
    this.#lost(stopping());
  }

  async #activate(): Promise<number> {
    const session = this.#session;
    for (let turns = 0; ; turns++) {
      const size = await activateSerial(session, this.#always);
      if (size !== undefined) return size;
      const owner = await serialSession(session, this.#always);
      // The answer to our own request may have been lost, and a BMC does not notice at once that a session of ours is over.
      const ours = [session.id, this.#past.lost, this.#options.lost];
      const isOurs = owner !== undefined && owner !== 0 && ours.includes(owner);
      if (!(isOurs || this.#options.takeOver) || turns >= mostTakeOvers) throw await this.#inUse(owner);
      await deactivateSerial(session, this.#always);
    }
  }

  async #inUse(owner: number | undefined): Promise<Fault> {
    const who = owner ? await sessionUser(this.#session, owner, this.#always) : undefined;
    const by = who === undefined ? 'by somebody else' : `by ${who}`;
    return new Fault('conflict', `its console over IPMI SOL is in use ${by}.`);
  }

  /** A BMC that somebody else took the console from us at may not say so by itself. */
  async #check(): Promise<void> {
    const session = this.#session;
    if (this.#owner === undefined) {
      await getDeviceId(session, this.#always);
      return;
    }
    const owner = await serialSession(session, this.#always);
    if (owner === undefined || owner === this.#owner) return;
    const who = owner === 0 ? undefined : await sessionUser(session, owner, this.#always);
    throw consoleLost(who === undefined ? 'somebody else has taken it over' : `${who} has taken it over`);
  }

  #lost(fault: Fault): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (unanswered(fault, this.#always)) this.#past.lost = this.#session.id;
    this.#options.closed(fault);
  }

  #console(): SerialConsole {
    const { line } = this.#session;
    const open = (): void => {
      if (!this.#isOpen) throw consoleLost('it is closed');
    };
    return {
      session: this.#session.id,
      write: async (characters) => {
        open();
        await line.write(characters);
      },
      sendBreak: async () => {
        open();
        await line.sendBreak();
      },
      close: async () => {
        if (!this.#isOpen) return;
        this.#isOpen = false;
        // Closing the session ends it at the BMC too; not all do that.
        this.#session.hurry();
        await deactivateSerial(this.#session, this.#always).catch(() => undefined);
        this.#session.end(consoleLost('it was closed'));
        this.#options.closed();
      },
    };
  }
}
