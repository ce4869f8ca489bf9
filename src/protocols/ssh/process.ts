import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { Fault } from '../../core/errors.ts';
import { abortFault, connectTimeoutFault, unstartedFault } from './faults.ts';
import type { HostKeys } from './host-keys.ts';
import {
  aliasOf,
  awaitRun,
  controlSocket,
  endIn,
  failureIn,
  joinArguments,
  logFile,
  maximumLog,
  ownFailure,
  type ProcessSettings,
  sshArguments,
} from './process-run.ts';
import { checkCommand } from '../../core/shell-words.ts';
import {
  checkTarget,
  defaultConnectTimeout,
  type ExecOptions,
  type Exit,
  hostAndPort,
  killCommand,
  killTimeout,
  type OpenOptions,
  type Output,
  type Target,
  type Transport,
  unknownSignal,
  wayTo,
} from './target.ts';

interface SshProcessOptions extends ProcessSettings {
  readonly hostKeys: HostKeys;
}

/** Milliseconds from asking ssh to end to killing it. */
const mercy = 1_000;
/** Bytes that the directory of a control socket may have in its name; the kernel takes little more than 100 in all. */
const longestDirectory = 60;

/** OpenSSH's client, a process for each command: for sites with GSSAPI or an ssh_config. It costs several times as much. */
export class SshProcesses implements Transport {
  readonly #options: SshProcessOptions;
  /** Each with what ends it. */
  readonly #running = new Map<ChildProcess, () => void>();
  /** What goes on though nobody waits for it. */
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: SshProcessOptions) {
    this.#options = options;
  }

  async exec(target: Target, command: string, output: Output, options: ExecOptions): Promise<Exit> {
    checkCommand(command);
    const work = await this.#prepare(target, options);
    const child = this.#start(work, target, options, command, true);
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const { connectTimeout = defaultConnectTimeout } = options;
    const allowed = connectTimeout * wayTo(target).length;
    const run = {
      child,
      isConnected: () => existsSync(controlSocket(work)),
      isFlooded: () => (statSync(logFile(work), { throwIfNoEntry: false })?.size ?? 0) > maximumLog,
      connectTimeout: allowed,
      late: connectTimeoutFault(target, allowed),
      flood: new Fault('garbled', `its sshd at ${hostAndPort(target)} does not stop sending.`),
      kill: () => this.#leave(this.#end(child, work, closed)),
    };
    this.#running.set(child, run.kill);
    try {
      const code = await awaitRun(run, output, options);
      await this.#learn(work, target);
      return code === ownFailure ? await this.#explain(work, target) : { code, signal: undefined };
    } finally {
      this.#leave(closed.then(() => rm(work, { recursive: true, force: true })));
    }
  }

  async subsystem(target: Target, name: string, options: OpenOptions): Promise<Duplex> {
    const work = await this.#prepare(target, options);
    const child = this.#start(work, target, options, name, false);
    child.stderr!.resume();
    const stream = childStream(child, async () => {
      try {
        await this.#learn(work, target);
        return child.exitCode === ownFailure
          ? failureIn(await readLog(work), target, this.#options.hostKeys)
          : undefined;
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    });
    return stream.on('error', () => undefined);
  }

  socket(): Promise<never> {
    const sentence = 'the ssh program cannot reach a socket there; set remote.transport to ssh2.';
    return Promise.reject(new Fault('invalid', sentence));
  }

  async close(): Promise<void> {
    // What is being ended already is not to be killed a second time.
    await Promise.all(this.#leaving);
    const ends = [...this.#running.keys()].map((child) => new Promise((resolve) => child.once('close', resolve)));
    for (const end of this.#running.values()) end();
    await Promise.all(ends);
    await Promise.all(this.#leaving);
  }

  /** A directory with the host keys that are known of the target and those on the way to it. */
  async #prepare(target: Target, { signal }: OpenOptions): Promise<string> {
    checkTarget(target);
    if (signal.aborted) throw abortFault(signal);
    if (target.password !== undefined) {
      throw new Fault('invalid', 'a password cannot be handed to the ssh program; use the built-in transport.');
    }
    const work = await mkdtemp(join(tmpdir().length > longestDirectory ? '/tmp' : tmpdir(), 'muster-ssh-'));
    const lines = wayTo(target).flatMap(({ name }, hop) =>
      this.#options.hostKeys.known(name).map((key) => `${aliasOf(hop)} ${key}\n`),
    );
    await writeFile(join(work, 'known_hosts'), lines.join(''), { mode: 0o600 });
    return work;
  }

  #start(work: string, target: Target, options: OpenOptions, command: string, isCommand: boolean): ChildProcess {
    const { connectTimeout = defaultConnectTimeout } = options;
    const { policy } = this.#options.hostKeys;
    const words = sshArguments(target, this.#options, { work, isCommand, policy, connectTimeout });
    const child = spawn('ssh', [...(isCommand ? [] : ['-s']), ...words, command], {
      stdio: 'pipe',
      env: { ...process.env, SHELL: '/bin/sh' },
    });
    child.stdin.on('error', () => undefined);
    this.#running.set(child, () => void child.kill());
    child.once('close', () => this.#running.delete(child));
    return child;
  }

  /** Kills what runs on the node, by a second session of the connection, then ends ssh. */
  async #end(child: ChildProcess, work: string, closed: Promise<void>): Promise<void> {
    if (existsSync(controlSocket(work))) {
      const killer = spawn('ssh', joinArguments(work, killCommand), { stdio: 'ignore', timeout: killTimeout });
      await new Promise((resolve) => killer.once('error', resolve).once('close', resolve));
    }
    child.kill();
    const timer = setTimeout(() => child.kill('SIGKILL'), mercy);
    await closed;
    clearTimeout(timer);
  }

  #leave(work: Promise<void>): void {
    const settled = work.finally(() => this.#leaving.delete(settled));
    this.#leaving.add(settled);
  }

  /** Keys that ssh has accepted for the first time. */
  async #learn(work: string, target: Target): Promise<void> {
    const { hostKeys } = this.#options;
    const text = await readFile(join(work, 'known_hosts'), 'utf8').catch(() => '');
    const shown = text.split('\n').map((line) => line.split(' '));
    for (const [hop, { name }] of wayTo(target).entries()) {
      const [, type, blob] = shown.find(([alias]) => alias === aliasOf(hop)) ?? [];
      if (blob !== undefined && hostKeys.known(name).length === 0) await hostKeys.learn(name, `${type} ${blob}`);
    }
  }

  /** ssh exits with the same code when it has failed, when the command ended by a signal, and when that is the command's code. */
  async #explain(work: string, target: Target): Promise<Exit> {
    const log = await readLog(work);
    const end = endIn(log);
    if (end === undefined) throw failureIn(log, target, this.#options.hostKeys);
    return end === 'code' ? { code: ownFailure, signal: undefined } : { code: undefined, signal: unknownSignal };
  }
}

const readLog = (work: string): Promise<string> => readFile(logFile(work), 'utf8').catch(() => '');

/** Input and output of a process as one stream; it ends when the process has ended, with the error that `judge` finds then. */
function childStream(child: ChildProcess, judge: () => Promise<Error | undefined>): Duplex {
  const { stdin, stdout } = child;
  const stream = new Duplex({
    read: () => void stdout!.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      if (stdin!.write(chunk)) done();
      else stdin!.once('drain', done);
    },
    final: (done) => void stdin!.end(done),
    destroy: (error, done) => {
      child.kill();
      done(error);
    },
  });
  stdout!.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) stdout!.pause();
  });
  const finish = (error: Error | undefined): void => {
    if (error) stream.destroy(error);
    else if (!stream.destroyed) stream.push(null);
  };
  child.once('error', (error) => stream.destroy(unstartedFault(error)));
  child.once('close', () => void judge().then(finish, finish));
  return stream;
}
