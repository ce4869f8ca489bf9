import { appendFile, rename, writeFile } from 'node:fs/promises';
import { readOptional } from '../core/files.ts';
import type { Logger } from '../core/log.ts';
import type { PastBoot } from './past-boots.ts';

interface KeptBoot {
  readonly node: string;
  /** Undefined: all earlier ones were another node's of this name. */
  readonly boot: PastBoot | undefined;
}

/** Lines above what is known that make it worth to write the file again. */
const spare = 10_000;
const mode = 0o600;

/**
 * The last boots of nodes on disk, a line of JSON for each. A later line of a node with the same beginning replaces an earlier one; when
 * a node is removed, a line says so. Lines are added without syncing: what a failing power supply takes is a few boots of the past.
 */
export class BootHistoryFile {
  readonly #path: string;
  readonly #log: Pick<Logger, 'warn'>;
  #lines = 0;
  #waiting: string[] = [];
  /** The whole file, if it is to be written again. */
  #whole: string | undefined;
  #writing: Promise<void> | undefined;
  #hasFailed = false;

  constructor(path: string, log: Pick<Logger, 'warn'>) {
    this.#path = path;
    this.#log = log;
  }

  read(): readonly KeptBoot[] {
    const lines = (readOptional(this.#path) ?? '').split('\n');
    // The last one may be cut off.
    return lines.flatMap((line) => parsed(line) ?? []);
  }

  write(node: string, boot: PastBoot): void {
    this.#add({ node, ...boot });
  }

  /** The node is gone: another one may get its name. */
  writeForgotten(node: string): void {
    this.#add({ node, gone: true });
  }

  #add(line: object): void {
    this.#waiting.push(`${JSON.stringify(line)}\n`);
    this.#lines++;
    this.#begin();
  }

  /** Whether it has many more lines than boots are kept. */
  isLong(kept: number): boolean {
    return this.#lines > kept + spare;
  }

  rewrite(boots: Iterable<readonly [node: string, boot: PastBoot]>): void {
    const lines = [...boots].map(([node, boot]) => `${JSON.stringify({ node, ...boot })}\n`);
    this.#lines = lines.length;
    this.#whole = lines.join('');
    this.#waiting = [];
    this.#begin();
  }

  async close(): Promise<void> {
    await this.#writing;
  }

  #begin(): void {
    this.#writing ??= this.#work().finally(() => (this.#writing = undefined));
  }

  async #work(): Promise<void> {
    while (this.#whole !== undefined || this.#waiting.length > 0) {
      const whole = this.#whole;
      const added = this.#waiting.join('');
      this.#whole = undefined;
      this.#waiting = [];
      try {
        if (whole !== undefined) {
          await writeFile(`${this.#path}.new`, whole, { mode });
          await rename(`${this.#path}.new`, this.#path);
        }
        if (added !== '') await appendFile(this.#path, added, { mode });
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed)
          this.#log.warn(`the history of boots cannot be written to ${this.#path}: ${(error as Error).message}`);
        this.#hasFailed = true;
      }
    }
  }
}

function parsed(line: string): KeptBoot | undefined {
  try {
    const { node, gone, began, ended, times, steps, end, cause } = JSON.parse(line) as Record<string, unknown>;
    if (typeof node === 'string' && gone === true) return { node, boot: undefined };
    const boot = { began: new Date(String(began)), ended: new Date(String(ended)) };
    if (typeof node !== 'string' || typeof steps !== 'string' || typeof end !== 'string') return undefined;
    if (Number.isNaN(boot.began.getTime() + boot.ended.getTime())) return undefined;
    const why = typeof cause === 'string' ? cause : undefined;
    return { node, boot: { ...boot, times: Number(times) || 1, steps, end, cause: why } };
  } catch {
    return undefined;
  }
}
