import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const bootScript = join(import.meta.dirname, 'systemd/boot.sh');
const namespaces = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child'];
export const environment = [
  'env',
  '-i',
  'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
  'HOME=/root',
  'TERM=dumb',
  'LC_ALL=C.UTF-8',
];

export interface Printed {
  readonly code: number | null;
  /** Standard output and standard error. */
  readonly text: string;
}

/** A Debian in namespaces, with systemd as its first process. It ends with the test. */
export class BootedSystem {
  readonly #unshare: ChildProcess;
  readonly #first: number;
  readonly #log: string;

  private constructor(unshare: ChildProcess, first: number, log: string) {
    this.#unshare = unshare;
    this.#first = first;
    this.#log = log;
  }

  /** `tree` stays as it is; `directory` is for what changes; what is in `packages` is at /packages. */
  static async boot(tree: string, directory: string, packages: string): Promise<BootedSystem> {
    const changes = join(directory, 'system');
    mkdirSync(changes);
    const log = join(directory, 'console');
    const output = openSync(log, 'w');
    const unshare = spawn('unshare', [...namespaces, 'sh', bootScript, tree, changes, packages], {
      stdio: ['ignore', output, output],
    });
    const first = await childOf(unshare, log);
    const system = new BootedSystem(unshare, first, log);
    // Until systemd listens, systemctl fails at once.
    for (;;) {
      const { text } = system.run('systemctl', 'is-system-running', '--wait');
      if (/^(running|degraded)$/m.test(text)) return system;
      if (unshare.exitCode !== null) throw new Error(`The system ended:\n${readFileSync(log, 'utf8')}`);
      await pause(200);
    }
  }

  run(...words: readonly string[]): Printed {
    const inside = ['-t', String(this.#first), '-m', '-u', '-i', '-n', '-p', '-C', '-r', '-w'];
    const { status, stdout, stderr } = spawnSync('nsenter', [...inside, ...environment, ...words], {
      encoding: 'utf8',
      cwd: '/',
    });
    return { code: status, text: stdout + stderr };
  }

  /** The same, for what has to succeed. */
  ok(...words: readonly string[]): string {
    const { code, text } = this.run(...words);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}:\n${text}`);
    return text;
  }

  get console(): string {
    return readFileSync(this.#log, 'utf8');
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#unshare.once('exit', resolve));
    process.kill(this.#first, 'SIGKILL');
    await ended;
  }
}

/** The process that unshare has started. */
export async function childOf({ pid, exitCode }: ChildProcess, log: string): Promise<number> {
  for (;;) {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
    if (children !== '') return Number(children);
    if (exitCode !== null) throw new Error(`unshare ended:\n${readFileSync(log, 'utf8')}`);
    await pause(20);
  }
}
