import type { StreamLine } from '../client.ts';
import { foldedBlock } from '../folded-block.ts';
import type { Invocation } from '../invocation.ts';
import { foldNames } from './fold.ts';
import type { OwnOptions } from './own-options.ts';

/** Lines for either stream. */
export interface Said {
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
}

/** Writes results as they come, or folded or as data when all are there. Errors always leave at once. */
export class ResultWriter {
  readonly #invocation: Invocation;
  readonly #own: Pick<OwnOptions, 'fold' | 'format'>;
  readonly #kept: StreamLine[] = [];
  readonly #blocks = new Map<string, string[]>();

  constructor(invocation: Invocation, own: Pick<OwnOptions, 'fold' | 'format'>) {
    this.#invocation = invocation;
    this.#own = own;
  }

  async write(line: StreamLine, { stdout, stderr }: Said): Promise<void> {
    const { format, fold } = this.#own;
    if (format === 'ndjson') return await this.#invocation.stdout.line(JSON.stringify(shown(line)));
    if (format) {
      this.#kept.push(line);
      return undefined;
    }
    if (!fold) return this.say({ stdout, stderr });
    await this.say({ stdout: [], stderr });
    // What a node failed with is told already.
    if (line.error === undefined || stdout.length > 0) this.#fold(line.node ?? '', stdout);
    return undefined;
  }

  async say({ stdout, stderr }: Said): Promise<void> {
    for (const text of stderr) await this.#invocation.stderr.line(text);
    for (const text of stdout) await this.#invocation.stdout.line(text);
  }

  async end(): Promise<void> {
    const { format, fold } = this.#own;
    if (format && format !== 'ndjson') {
      const { formatted } = await import('./formats.ts');
      await this.#invocation.stdout.write(formatted(format, this.#kept.map(shown)));
    } else if (fold) {
      for (const [text, names] of this.#blocks)
        await this.#invocation.stdout.write(foldedBlock(foldNames(names), text));
    }
  }

  #fold(node: string, lines: readonly string[]): void {
    const text = lines.map((each) => (each.startsWith(`${node}: `) ? each.slice(node.length + 2) : each)).join('\n');
    const names = this.#blocks.get(text);
    if (names) names.push(node);
    else this.#blocks.set(text, [node]);
  }
}

const shown = ({ node, value, error }: StreamLine) => (error === undefined ? { node, value } : { node, error });
