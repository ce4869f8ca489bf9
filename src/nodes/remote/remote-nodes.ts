import type { Duplex } from 'node:stream';
import { unwatchAbort, watchAbort } from '../../core/waiting.ts';
import { Fault, type FaultData, unlessFault } from '../../core/errors.ts';
import { NamedSlots } from '../../core/limiter.ts';
import { abortFault } from '../../protocols/ssh/faults.ts';
import { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import type { ExecOptions, Exit, Output, Target, Transport } from '../../protocols/ssh/target.ts';

export interface RemoteOptions {
  readonly transport: Transport;
  /** Milliseconds. */
  readonly connectTimeout: number;
  readonly commandTimeout: number;
}

export interface RunOptions extends Omit<ExecOptions, 'connectTimeout' | 'signal'> {
  /** Ends it, instead of what ends the user's whole work; that must end this too. */
  readonly signal?: AbortSignal | undefined;
  /** Shown instead of muster's key. */
  readonly password?: string | undefined;
}

/** Nodes that are worked on for one user at once, by all that the user has asked for: each takes a connection. */
const nodesPerUser = 1_024;

export interface RemoteUser {
  readonly node: string;
  /** Of the API. */
  readonly user: string;
  readonly signal: AbortSignal;
  /** Waited for before the node is gone to, if it is there. */
  readonly goAhead?: (() => Promise<void>) | undefined;
}

/** The nodes that this process reaches by SSH. */
export class RemoteNodes {
  readonly #options: RemoteOptions;
  /** By user. */
  readonly #slots: NamedSlots;
  /** Of nodes that are brought up to date: each by one at a time. */
  readonly #updates = new NamedSlots(1);

  constructor(options: RemoteOptions, slotsPerUser = nodesPerUser) {
    this.#options = options;
    this.#slots = new NamedSlots(slotsPerUser);
  }

  /** Works on a node when the user has a slot. */
  use<T>(
    target: Target | FaultData,
    { user, signal, goAhead }: RemoteUser,
    work: (node: RemoteNode) => Promise<T>,
  ): Promise<T> {
    return this.#slots.take(user, signal, async () => {
      await goAhead?.();
      return work(new RemoteNode(this.#options, target, signal));
    });
  }

  /** The same, when no other update of the node is under way. */
  update<T>(target: Target | FaultData, by: RemoteUser, work: (node: RemoteNode) => Promise<T>): Promise<T> {
    return this.#updates.take(by.node, by.signal, () => this.use(target, by, work));
  }

  /** A UNIX socket of a node as a stream, which is kept open for as long as it is used and takes no slot. */
  async socket(target: Target | FaultData, path: string, signal: AbortSignal): Promise<Duplex> {
    const { transport, connectTimeout } = this.#options;
    return transport.socket(unlessFault(target), path, { signal, connectTimeout });
  }

  close(): Promise<void> {
    return this.#options.transport.close();
  }
}

/** Milliseconds that work which was cut off may tidy up, also on a node that is very busy. */
const tidyTimeout = 30_000;

/** One node as one user sees it, for the time of one command. Faults are sentences that go after the node's name. */
export class RemoteNode {
  readonly #options: RemoteOptions;
  readonly #target: Target | FaultData;
  readonly #signal: AbortSignal;

  constructor(options: RemoteOptions, target: Target | FaultData, signal: AbortSignal) {
    this.#options = options;
    this.#target = target;
    this.#signal = signal;
  }

  /** Runs a command in the user's shell; without a timeout of its own it gets the usual one, 0 is none. */
  async exec(
    command: string,
    output: Output,
    { password, signal = this.#signal, ...options }: RunOptions = {},
  ): Promise<Exit> {
    const { transport, connectTimeout } = this.#options;
    const { commandTimeout = this.#options.commandTimeout } = options;
    const target = unlessFault(this.#target);
    return transport.exec(password === undefined ? target : { ...target, password }, command, output, {
      ...options,
      signal,
      connectTimeout,
      commandTimeout: commandTimeout === 0 ? undefined : commandTimeout,
    });
  }

  /** Works on the files of the node, within the timeout of a command and `more` milliseconds; `signal` ends it. */
  async withFiles<T>(work: (files: RemoteFiles, signal: AbortSignal) => Promise<T>, more = 0): Promise<T> {
    const { transport, connectTimeout, commandTimeout } = this.#options;
    const signal = this.#signal;
    const target = unlessFault(this.#target);
    const allowed = commandTimeout + more;
    const over = new AbortController();
    const ended = new Promise<never>((_resolve, reject) => {
      over.signal.addEventListener('abort', () => reject(abortFault(over.signal)), { once: true });
    });
    const watch = { aborted: (): void => over.abort(signal.reason) };
    watchAbort(signal, watch);
    if (signal.aborted) watch.aborted();
    const late = new Fault('deadline', `it was not done within ${Math.round(allowed / 1_000)} s and was stopped.`);
    const timer = setTimeout(() => over.abort(late), allowed);
    const opened = RemoteFiles.open(transport, target, { signal: over.signal, connectTimeout });
    try {
      return await Promise.race([opened.then((files) => work(files, over.signal)), ended]);
    } finally {
      clearTimeout(timer);
      unwatchAbort(signal, watch);
      void opened.then(
        (files) => files.close(over.signal.aborted ? tidyTimeout : undefined),
        () => undefined,
      );
    }
  }
}
