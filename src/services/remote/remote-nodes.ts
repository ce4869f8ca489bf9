import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import { Fault } from '../../core/errors.ts';
import { abortFault } from '../../protocols/ssh/faults.ts';
import { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import type { ExecOptions, Exit, Output, Transport } from '../../protocols/ssh/transport.ts';
import type { Targets } from './targets.ts';

export interface RemoteNodesOptions {
  readonly transport: Transport;
  readonly targets: Targets;
  /** Milliseconds. */
  readonly connectDeadline: number;
  readonly commandDeadline: number;
}

export interface RunOptions extends Omit<ExecOptions, 'connectDeadline'> {
  /** Shown instead of muster's key. */
  readonly password?: string | undefined;
}

/** Milliseconds that tidying up may take. */
const patience = 5_000;

/** Nodes as one user sees them, for the time of one command. Faults are sentences that go after the node's name. */
export class RemoteNodes {
  readonly #options: RemoteNodesOptions;

  constructor(options: RemoteNodesOptions) {
    this.#options = options;
  }

  /** Runs a command in the user's shell; without a deadline of its own it gets the usual one, 0 is none. */
  async exec(node: string, command: string, output: Output, { password, ...options }: RunOptions): Promise<Exit> {
    const { transport, targets, connectDeadline } = this.#options;
    const { commandDeadline = this.#options.commandDeadline } = options;
    const target = { ...(await targets.of(node)), password };
    return transport.exec(target, command, output, {
      ...options,
      connectDeadline,
      commandDeadline: commandDeadline === 0 ? undefined : commandDeadline,
    });
  }

  /**
   * Works on the files of a node; all of it must be done within the usual deadline of a command and as many milliseconds more.
   * `work` gets the signal that says when it is over.
   */
  async withFiles<T>(
    node: string,
    signal: AbortSignal,
    work: (files: RemoteFiles, signal: AbortSignal) => Promise<T>,
    more = 0,
  ): Promise<T> {
    const { transport, targets, connectDeadline, commandDeadline } = this.#options;
    const allowed = commandDeadline + more;
    const over = new AbortController();
    const ended = new Promise<never>((_resolve, reject) => {
      over.signal.addEventListener('abort', () => reject(abortFault(over.signal)), { once: true });
    });
    const watch = { aborted: (): void => over.abort(signal.reason) };
    watchAbort(signal, watch);
    if (signal.aborted) watch.aborted();
    const late = new Fault('deadline', `it was not done within ${Math.round(allowed / 1_000)} s and was stopped.`);
    const timer = setTimeout(() => over.abort(late), allowed);
    const opened = (async () =>
      RemoteFiles.open(transport, await targets.of(node), { signal: over.signal, connectDeadline }))();
    try {
      return await Promise.race([opened.then((files) => work(files, over.signal)), ended]);
    } finally {
      clearTimeout(timer);
      unwatchAbort(signal, watch);
      void opened.then(
        (files) => leave(files, over.signal.aborted),
        () => undefined,
      );
    }
  }
}

/** What was cut off may still be tidying up: the server answers in order, so its next answer says that it is done. */
function leave(files: RemoteFiles, tidying: boolean): void {
  if (!tidying) {
    files.close();
    return;
  }
  const timer = setTimeout(() => files.close(), patience);
  files
    .lstat('.')
    .catch(() => undefined)
    .finally(() => {
      clearTimeout(timer);
      files.close();
    });
}
