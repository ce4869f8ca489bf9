import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { compileCache, programFile } from '../core/home.ts';
import { Fault, type FaultData } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { childCommand, fixedEnvironment } from './program.ts';
import type { Batch, FromChild, Order, ToChild } from './messages.ts';

export interface ChildWatcher {
  readonly signal: AbortSignal;
  readonly log: Logger;
  tell(batch: Batch): void;
  writesTo(directory: string): void;
}

const program = programFile('work/child');
/** Milliseconds that work has to end by itself after it was asked to. */
const endTimeout = 3_000;
const keptComplaints = 16_384;

/** Has an order done by a process of its own; when this returns or throws, that process and all that it has started are gone. */
export async function doInChild(order: Order, watcher: ChildWatcher): Promise<unknown> {
  const { signal, log } = watcher;
  signal.throwIfAborted();
  const [first, ...rest] = childCommand(order.isolated, [process.execPath, program]);
  const child = spawn(first!, rest, {
    // A group of its own: it is ended as a whole, and Ctrl-C is for us.
    detached: true,
    // Set from outside the cache is there for the first module, and for threads.
    env: { ...fixedEnvironment, NODE_COMPILE_CACHE: compileCache },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let last: Exclude<FromChild, { batch: unknown } | { staging: unknown }> | undefined;
  child.on('message', (message: FromChild) => {
    if ('batch' in message) watcher.tell(message.batch);
    else if ('staging' in message) watcher.writesTo(message.staging);
    else {
      last = message;
      endSoon();
    }
  });
  let timer: NodeJS.Timeout | undefined;
  const endSoon = (): void => {
    timer ??= setTimeout(() => kill(child, order.isolated), endTimeout);
  };
  const abort = (): void => {
    tell(child, { abort: dataOf(signal.reason) });
    endSoon();
  };
  signal.addEventListener('abort', abort, { once: true });
  const complaints = keep(child);
  try {
    tell(child, { order });
    const how = await endOf(child);
    // What was all made before it heard that it should end counts.
    if (!last || !('made' in last)) signal.throwIfAborted();
    if (!last) throw died(how, complaints(), order, log);
    return valueOf(last, order, log);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** It may have ended this moment; then its end says so. */
function tell(child: ChildProcess, message: ToChild): void {
  if (child.connected) child.send(message, () => undefined);
}

const dataOf = (reason: unknown): FaultData =>
  reason instanceof Fault
    ? { kind: reason.kind, sentences: reason.sentences }
    : { kind: 'unavailable', sentences: [String(reason)] };

/**
 * With a namespace the process is the only child of the one that made it, which ends when all that were in the namespace have.
 * Killing both would report the end too early.
 */
function kill({ pid }: ChildProcess, isolated: boolean): void {
  try {
    const first = isolated ? Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')) : -pid!;
    if (first !== 0) process.kill(first, 'SIGKILL');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'ENOENT') throw error;
  }
}

/** Its last message may come after its end. */
async function endOf(child: ChildProcess): Promise<string> {
  const disconnected = new Promise<void>((resolve) => child.once('disconnect', resolve));
  const how = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal === null ? `with code ${code}` : `by ${signal}`));
  });
  // Without a namespace of its own, what it has started may still be there.
  kill(child, false);
  await disconnected;
  return how;
}

function keep({ stderr }: ChildProcess): () => string {
  let text = '';
  stderr!.on('data', (chunk: Buffer) => {
    if (text.length < keptComplaints) text += chunk.toString();
  });
  return () => text;
}

function valueOf(last: Exclude<FromChild, { batch: unknown } | { staging: unknown }>, order: Order, log: Logger) {
  if ('made' in last) return last.made;
  if ('fault' in last) throw new Fault(last.fault.kind, last.fault.sentences);
  const { text, code } = last.error;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    throw new Fault(
      'unavailable',
      'There is no space left on the file system that is written to; free some and try again.',
    );
  throw wentWrong(order, log, text);
}

function died(how: string, complaints: string, order: Order, log: Logger): Fault {
  log.error({ run: order.record.run, complaints }, `the process of ${order.record.command} ended ${how}`);
  return new Fault(
    'unavailable',
    `The process that did the work of ${order.record.command} ended ${how}; the log says more under run ${order.record.run}.`,
  );
}

function wentWrong({ record: { run, command } }: Order, log: Logger, text: string): Fault {
  log.error({ run, error: text }, `${command} failed unexpectedly`);
  return unforeseen(run);
}

/** What clients get to read about a bug of ours. */
export const unforeseen = (run: string): Fault =>
  new Fault('unavailable', `Something went wrong inside muster; its log says more under run ${run}.`);
