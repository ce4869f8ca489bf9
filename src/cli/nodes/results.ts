import type { StreamLine } from '../replies.ts';
import type { Invocation } from '../command.ts';
import type { CommonOptions } from '../common-options.ts';
import { byName, foldedBlock } from '../lines.ts';
import { lineDiff } from './line-diff.ts';

/** Lines for either stream. */
export interface Said {
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
}

/** Writes results as they come, or folded or as data when all are there. Errors always leave at once. */
export class ResultWriter {
  readonly #invocation: Invocation;
  readonly #common: Pick<CommonOptions, 'fold' | 'diff' | 'format'>;
  readonly #kept: StreamLine[] = [];
  readonly #blocks = new Map<string, string[]>();

  constructor(invocation: Invocation, common: Pick<CommonOptions, 'fold' | 'diff' | 'format'>) {
    this.#invocation = invocation;
    this.#common = common;
  }

  async write(line: StreamLine, { stdout, stderr }: Said): Promise<void> {
    const { format, fold } = this.#common;
    if (format === 'ndjson') return await this.#invocation.stdout.line(JSON.stringify(shown(line)));
    if (format) {
      this.#kept.push(line);
      return undefined;
    }
    if (!fold) return this.say({ stdout, stderr });
    await this.say({ stdout: [], stderr });
    // What a node failed with has left already.
    if (line.error === undefined || stdout.length > 0) this.#fold(line.node ?? '', stdout);
    return undefined;
  }

  async say({ stdout, stderr }: Said): Promise<void> {
    for (const text of stderr) await this.#invocation.stderr.line(text);
    for (const text of stdout) await this.#invocation.stdout.line(text);
  }

  async end(): Promise<void> {
    const { format, fold } = this.#common;
    if (format && format !== 'ndjson') {
      const { formatted } = await import('../formats.ts');
      const sorted = this.#kept.toSorted((a, b) => byName(String(a.node), String(b.node)));
      await this.#invocation.stdout.write(await formatted(format, sorted.map(shown)));
    } else if (fold) {
      for (const [text, names] of this.#common.diff ? differences(this.#blocks) : this.#blocks)
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

/** The result that most nodes have, and of all others how they differ from it; the most common ones first. */
function differences(blocks: ReadonlyMap<string, readonly string[]>): [string, readonly string[]][] {
  const [usual, ...others] = [...blocks].toSorted(([, a], [, b]) => b.length - a.length);
  if (!usual) return [];
  const lines = usual[0].split('\n');
  return [usual, ...others.map(([text, names]): [string, readonly string[]] => [differenceOf(lines, text), names])];
}

const differenceOf = (usual: readonly string[], text: string): string => lineDiff(usual, text.split('\n')).join('\n');

const shown = ({ node, value, error }: StreamLine) => (error === undefined ? { node, value } : { node, error });

/** Names that differ only in one number, as a range: n1, n2, n3, n10 are `n[1-3,10]`. Node ranges are read back the same. */
export function foldNames(names: Iterable<string>): string {
  const families = new Map<string, { before: string; after: string; width: number; numbers: Set<number> }>();
  const others: string[] = [];
  for (const name of names) {
    const match = /^(.*?)(\d+)([^\d]*)$/.exec(name);
    if (!match || match[2]!.length > 15) {
      others.push(name);
      continue;
    }
    const [, before = '', digits = '', after = ''] = match;
    // n1 and n01 are two nodes: numbers with leading zeros belong together only if they are equally wide.
    const width = digits.startsWith('0') && digits.length > 1 ? digits.length : 0;
    const key = JSON.stringify([before, after, width]);
    const family = families.get(key) ?? { before, after, width, numbers: new Set<number>() };
    families.set(key, family);
    family.numbers.add(Number(digits));
  }
  const folded = [...families.values()].map(({ before, after, width, numbers }) => {
    const pieces = stretches([...numbers].sort((a, b) => a - b)).map(([first, last]) =>
      first === last ? padded(first, width) : `${padded(first, width)}-${padded(last, width)}`,
    );
    const [piece = ''] = pieces;
    return pieces.length === 1 && !piece.includes('-')
      ? `${before}${piece}${after}`
      : `${before}[${pieces.join(',')}]${after}`;
  });
  return [...folded, ...others].join(',');
}

const padded = (number: number, width: number): string => String(number).padStart(width, '0');

function stretches(sorted: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const number of sorted) {
    const last = found.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else found.push([number, number]);
  }
  return found;
}

/** A value of any shape as lines, with the names of what it is made of. */
export function valueLines(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return value.replace(/\n$/, '').split('\n');
  if (Array.isArray(value)) return value.flatMap(valueLines);
  if (typeof value !== 'object') return [JSON.stringify(value)];
  return Object.entries(value).flatMap(([label, each]) => valueLines(each).map((line) => `${label}: ${line}`));
}
