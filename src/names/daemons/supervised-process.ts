import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { readOptional } from '../../core/files.ts';
import type { Logger } from '../../core/log.ts';
import { Turns } from '../../core/waiting.ts';
import type { Daemon, DaemonSpec } from './daemon.ts';
import { DaemonLog } from './daemon-log.ts';

/** Which process it is: a number alone may be somebody else's by now. */
interface ProcessMark {
  readonly pid: number;
  /** In ticks since the machine was started; stays the same over exec. */
  readonly startTime: string;
}

/**
 * Run by sh before it becomes the daemon: the process notes itself in the file, so there is no moment in which it runs and nobody
 * would know after a crash. The file gets the kernel's line on the process, the arguments are the file and the daemon's command.
 */
const markingScript = 'read -r line </proc/$$/stat && printf "%s\\n" "$line" >"$0" && exec "$@"';

/** Reads the kernel's line; the name in parentheses may hold anything, so it is read from behind. */
export function parseMark(line: string): ProcessMark | undefined {
  const end = line.lastIndexOf(')');
  const pid = /^\d+/.exec(line)?.[0];
  const fields = line.slice(end + 2).split(' ');
  const startTime = fields[19];
  if (end < 0 || !pid || !startTime || !/^\d+$/.test(startTime)) return undefined;
  return { pid: Number(pid), startTime };
}

export const readMark = (file: string): ProcessMark | undefined => parseMark(readOptional(file) ?? '');

const removeMark = (file: string): void => rmSync(file, { force: true });

/** The process is still the marked one, and not a dead one that nobody has waited for. */
export function isAlive({ pid, startTime }: ProcessMark): boolean {
  const line = readOptional(`/proc/${pid}/stat`) ?? '';
  return parseMark(line)?.startTime === startTime && line[line.lastIndexOf(')') + 2] !== 'Z';
}

/** What the marked process has left behind in its session, of which it was the first: workers that nobody leads any more. */
function remainsOf({ pid }: ProcessMark): ProcessMark[] {
  // It lives, or another process has its number by now.
  if (readOptional(`/proc/${pid}/stat`) !== undefined) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const line = readOptional(`/proc/${name}/stat`) ?? '';
      const session = line.slice(line.lastIndexOf(')') + 2).split(' ')[3];
      return session === String(pid) ? (parseMark(line) ?? []) : [];
    });
}

const commandOf = ({ pid }: ProcessMark): readonly string[] =>
  (readOptional(`/proc/${pid}/cmdline`) ?? '').split('\0').slice(0, -1);

/** One that ends is noticed at once; a busy machine, or one with many zones, takes long to start one. */
const readyWithin = 60_000;
/** For one that an earlier muster has left: while it takes up a new configuration, its former workers may answer now and then. */
const answersWithin = 5_000;
const endsWithin = 10_000;
const lookEvery = 500;
const shortestPause = 500;
const longestPause = 60_000;

/** A daemon that muster starts again when it dies. It outlives a kill of muster: the next one finds it by its mark. */
export class SupervisedProcess implements Daemon {
  readonly #spec: DaemonSpec;
  readonly #log: Logger;
  readonly #directory: string;
  readonly #markFile: string;
  readonly #output: DaemonLog;
  #mark: ProcessMark | undefined;
  #wanted = false;
  #pause = shortestPause;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #turns = new Turns();

  constructor(spec: DaemonSpec, log: Logger, directory: string) {
    this.#spec = spec;
    this.#log = log;
    this.#directory = directory;
    this.#markFile = join(directory, `${spec.name}.process`);
    this.#output = new DaemonLog(join(directory, `${spec.name}.log`), spec.name, log);
  }

  async isRunning(): Promise<boolean> {
    const mark = this.#living();
    return mark !== undefined && (await this.#spec.ready(mark.pid));
  }

  start(): Promise<void> {
    return this.#turns.take(() => this.#start());
  }

  reload(): Promise<void> {
    return this.#turns.take(async () => {
      const mark = this.#living();
      if (!mark) return this.#start();
      signal(mark, 'SIGHUP');
    });
  }

  stop(): Promise<void> {
    return this.#turns.take(() => this.#stop());
  }

  resume(): Promise<void> {
    return this.start();
  }

  close(): Promise<void> {
    return this.stop();
  }

  /** The process, if it lives; also one that an earlier muster has left behind. */
  #living(): ProcessMark | undefined {
    this.#mark ??= readMark(this.#markFile);
    if (this.#mark && !isAlive(this.#mark)) this.#mark = undefined;
    return this.#mark;
  }

  async #start(): Promise<void> {
    this.#wanted = true;
    const left = this.#living();
    // One that hangs serves nobody.
    if (left && !(this.#isOurs(left) && (await this.#answers(left)))) await this.#end(left);
    const child = this.#living() ? undefined : await this.#spawn();
    this.#watch();
    await this.#untilReady(child);
  }

  async #answers(left: ProcessMark): Promise<boolean> {
    for (const deadline = Date.now() + answersWithin; Date.now() < deadline && isAlive(left); await pause(20))
      if (await this.#spec.ready(left.pid)) return true;
    return false;
  }

  /** Whether it runs as we would start it now. Some daemons show their command as one text, behind what they are. */
  #isOurs(mark: ProcessMark): boolean {
    return commandOf(mark).join(' ').trimEnd().endsWith(this.#spec.command.join(' '));
  }

  async #spawn(): Promise<ChildProcess> {
    const { command, env } = this.#spec;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const former = readMark(this.#markFile);
    // They would keep what it listens on.
    for (const worker of former ? remainsOf(former) : []) await this.#end(worker);
    removeMark(this.#markFile);
    const output = this.#output.open();
    // A group of its own: Ctrl-C is for muster, which ends the daemon in order.
    const child = spawn('/bin/sh', ['-c', markingScript, this.#markFile, ...command], {
      cwd: this.#directory,
      detached: true,
      stdio: ['ignore', output, output],
      env: { ...process.env, ...env },
    });
    closeSync(output);
    child.on('error', (error) => this.#log.error({ err: error }, `${this.#spec.name} cannot be started`));
    child.once('exit', () => this.#look());
    child.unref();
    this.#startedAt = Date.now();
    return child;
  }

  async #untilReady(child: ChildProcess | undefined): Promise<void> {
    const { name, ready, obstacle } = this.#spec;
    for (const deadline = Date.now() + readyWithin; Date.now() < deadline; await pause(20)) {
      if (child && (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)) break;
      const mark = this.#living();
      if (mark && (await ready(mark.pid))) {
        this.#pause = shortestPause;
        return;
      }
      const why = mark && obstacle?.(mark.pid);
      if (why !== undefined) throw new Fault('unavailable', why);
    }
    const said = this.#output.lastWords();
    const { file } = this.#output;
    throw new Fault('unavailable', [
      `${name} does not run.`,
      said === '' ? `It has printed nothing; see ${file}.` : `It said last (${file}): ${said}`,
    ]);
  }

  /** A process that we have not started ourselves notifies nobody when it ends, so it is looked at. */
  #watch(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), lookEvery);
    this.#timer.unref();
  }

  #look(): void {
    if (!this.#wanted) return;
    if (this.#living()) {
      this.#output.trim();
      if (Date.now() - this.#startedAt > longestPause) this.#pause = shortestPause;
      this.#watch();
      return;
    }
    clearTimeout(this.#timer);
    const wait = this.#pause;
    this.#pause = Math.min(longestPause, wait * 2);
    this.#log.warn(`${this.#spec.name} has ended; it is started again in ${wait} ms`);
    this.#timer = setTimeout(() => {
      this.#turns
        .take(async () => {
          if (this.#wanted && !this.#living()) await this.#start();
        })
        .catch((error: unknown) => this.#log.error({ err: error }, `${this.#spec.name} could not be started again`));
    }, wait);
    this.#timer.unref();
  }

  async #stop(): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#timer);
    const mark = this.#living();
    if (mark) await this.#end(mark);
    this.#mark = undefined;
    removeMark(this.#markFile);
  }

  async #end(mark: ProcessMark): Promise<void> {
    signal(mark, 'SIGTERM');
    // One that was halted hears of it only so.
    signal(mark, 'SIGCONT');
    for (const deadline = Date.now() + endsWithin; Date.now() < deadline; await pause(10)) if (!isAlive(mark)) return;
    signal(mark, 'SIGKILL');
    while (isAlive(mark)) await pause(10);
  }
}

function signal(mark: ProcessMark, name: NodeJS.Signals): void {
  if (!isAlive(mark)) return;
  try {
    process.kill(mark.pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
