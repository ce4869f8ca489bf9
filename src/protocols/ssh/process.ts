import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { Fault, Unreachable } from '../../core/errors.ts';
import { childStream } from './child-stream.ts';
import { abortFault, loginFault } from './faults.ts';
import { changedKey, type HostKeys } from './host-keys.ts';
import { type ProcessSettings, sshArguments } from './process-arguments.ts';
import { ownFailure, runChild } from './process-run.ts';
import { checkCommand } from './quote.ts';
import { checkTarget, placeOf, type Target } from './target.ts';
import {
  defaultConnectDeadline,
  type ExecOptions,
  type Exit,
  type OpenOptions,
  type Output,
  type Transport,
} from './transport.ts';

export interface SshProcessOptions extends ProcessSettings {
  readonly hostKeys: HostKeys;
}

/**
 * OpenSSH's client, one process for each command: for sites that log in by GSSAPI or have an ssh_config of their own. It keeps no
 * connections and costs several times the processor time.
 */
export class SshProcesses implements Transport {
  readonly #options: SshProcessOptions;
  readonly #running = new Set<ChildProcess>();

  constructor(options: SshProcessOptions) {
    this.#options = options;
  }

  async exec(target: Target, command: string, output: Output, options: ExecOptions): Promise<Exit> {
    checkCommand(command);
    const work = await this.#prepare(target, options);
    try {
      const child = this.#start(work, target, options, [command]);
      const { code, signal } = await runChild(child, output, options);
      await this.#learn(work, target);
      if (code === ownFailure) {
        const fault = await this.#failure(work, target);
        if (fault) throw fault;
      }
      return { code, signal };
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  async subsystem(target: Target, name: string, options: OpenOptions): Promise<Duplex> {
    const work = await this.#prepare(target, options);
    const child = this.#start(work, target, options, [name], ['-s']);
    child.stderr!.resume();
    const stream = childStream(child, async () => {
      try {
        await this.#learn(work, target);
        return child.exitCode === ownFailure ? await this.#failure(work, target) : undefined;
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    });
    return stream.on('error', () => undefined);
  }

  async close(): Promise<void> {
    const ends = [...this.#running].map((child) => new Promise((resolve) => child.once('close', resolve)));
    for (const child of this.#running) child.kill();
    await Promise.all(ends);
  }

  /** A directory with the host keys that are known of the target and those on the way to it. */
  async #prepare(target: Target, { signal }: OpenOptions): Promise<string> {
    checkTarget(target);
    if (signal.aborted) throw abortFault(signal);
    if (target.password !== undefined) {
      throw new Fault('invalid', 'a password cannot be handed to the ssh program; use the built-in transport.');
    }
    const work = await mkdtemp(join(tmpdir(), 'muster-ssh-'));
    const lines = wayTo(target).flatMap(({ name }) => {
      const key = this.#options.hostKeys.known(name);
      return key === undefined ? [] : `${name} ${key}\n`;
    });
    await writeFile(join(work, 'known_hosts'), lines.join(''), { mode: 0o600 });
    return work;
  }

  #start(work: string, target: Target, options: OpenOptions, command: string[], flags: string[] = []): ChildProcess {
    const { connectDeadline = defaultConnectDeadline } = options;
    const { policy } = this.#options.hostKeys;
    const words = sshArguments(target, this.#options, { work, policy, connectDeadline });
    const child = spawn('ssh', [...flags, ...words, ...command], {
      stdio: 'pipe',
      env: { ...process.env, SHELL: '/bin/sh' },
    });
    child.stdin.on('error', () => undefined);
    this.#running.add(child);
    child.once('close', () => this.#running.delete(child));
    return child;
  }

  /** Keys that ssh has accepted for the first time. */
  async #learn(work: string, target: Target): Promise<void> {
    const { hostKeys } = this.#options;
    const names = new Set(wayTo(target).map(({ name }) => name));
    const text = await readFile(join(work, 'known_hosts'), 'utf8').catch(() => '');
    for (const line of text.split('\n')) {
      const [name = '', type = '', blob = ''] = line.split(' ');
      if (names.has(name) && hostKeys.known(name) === undefined) await hostKeys.learn(name, `${type} ${blob}`);
    }
  }

  /** What ssh says of its own failure. Its log is apart from what the command printed. */
  async #failure(work: string, target: Target): Promise<Fault | undefined> {
    const log = (await readFile(join(work, 'log'), 'utf8').catch(() => '')).trim();
    if (log === '') return undefined;
    const { hostKeys } = this.#options;
    const fingerprint = /SHA256:[A-Za-z0-9+/]+/.exec(log)?.[0] ?? 'unknown';
    if (log.includes('IDENTIFICATION HAS CHANGED')) {
      const changed = wayTo(target).find(({ name }) => log.includes(`for ${name} `)) ?? target;
      return changedKey(changed, hostKeys.known(changed.name) ?? '', fingerprint, hostKeys);
    }
    const last = log.split('\n').at(-1) ?? '';
    if (/No \S+ host key is known for/.test(log)) {
      return new Fault(
        'invalid',
        `the host key of its sshd at ${placeOf(target)} is not known, and only known ones are accepted here. ` +
          hostKeys.howToLearn(target.name),
      );
    }
    if (log.includes('Permission denied')) return loginFault(target);
    if (/timed out|refused|No route|unreachable|Could not resolve/i.test(log)) {
      return new Unreachable(`its sshd at ${placeOf(target)} cannot be reached: ${last}`);
    }
    return new Fault('invalid', `ssh to ${placeOf(target)} failed: ${last}`);
  }
}

/** The target and the machines it is reached through. */
function wayTo(target: Target): Target[] {
  return target.jump === undefined ? [target] : [target, ...wayTo(target.jump)];
}
