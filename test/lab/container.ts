import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { childOf, environment, type Printed } from './systemd.ts';

const script = join(import.meta.dirname, 'container.sh');
const namespaces = ['--mount', '--pid', '--net', '--uts', '--ipc', '--fork', '--kill-child'];

export interface ContainerOptions {
  /** The directory of its files. It is written to. */
  readonly tree: string;
  /** A directory, and where the container has it. */
  readonly volume: readonly [directory: string, at: string];
  readonly words: readonly string[];
  readonly variables: readonly string[];
  readonly log: string;
}

/** A program in a tree of its own, as the first process there. */
export class Container {
  readonly #unshare: ChildProcess;
  readonly #first: number;
  readonly #log: string;

  private constructor(unshare: ChildProcess, first: number, log: string) {
    this.#unshare = unshare;
    this.#first = first;
    this.#log = log;
  }

  static async start({ tree, volume, words, variables, log }: ContainerOptions): Promise<Container> {
    const output = openSync(log, 'w');
    const inside = ['env', '-i', ...variables, ...words];
    const unshare = spawn('unshare', [...namespaces, 'sh', script, tree, ...volume, ...inside], {
      stdio: ['ignore', output, output],
    });
    return new Container(unshare, await childOf(unshare, log), log);
  }

  run(...words: readonly string[]): Printed {
    const inside = ['-t', String(this.#first), '-m', '-u', '-i', '-n', '-p', '-r', '-w'];
    const { status, stdout, stderr } = spawnSync('nsenter', [...inside, ...environment, ...words], {
      encoding: 'utf8',
      cwd: '/',
    });
    return { code: status, text: stdout + stderr };
  }

  get output(): string {
    return readFileSync(this.#log, 'utf8');
  }

  /** Asks it to end, and returns the status with which it did. */
  async stop(): Promise<number | null> {
    if (this.#unshare.exitCode !== null) return this.#unshare.exitCode;
    const ended = new Promise<number | null>((resolve) => this.#unshare.once('exit', resolve));
    process.kill(this.#first, 'SIGTERM');
    return ended;
  }
}
