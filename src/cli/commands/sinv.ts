import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Call, type Invocation, say, xcatCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { byName, errorLine, foldedBlock, splitLine } from '../lines.ts';
import { lineDiff } from '../nodes/line-diff.ts';
import { foldNames } from '../nodes/results.ts';
import { GatheredOutput } from '../output.ts';
import { filled, flag, refused, valued, verbose } from '../options.ts';
import { commands } from './index.ts';

export const sinv = xcatCommand({
  usage: `Usage: sinv -p TEMPLATE [-s NODE] [-t COUNT] [-e] [-i] [-r] [-l USER] [-o FILE] -c "xdsh NODERANGE COMMAND"
       sinv -p TEMPLATE ... -c "rinv NODERANGE KIND"
       sinv -p TEMPLATE ... -f FILE

Runs a command on nodes, compares what each prints with a template, and lists the nodes by the template that they match. A template is a
file with the lines that are expected, such as the output of xdshcoll; if there is none, the first node (or that of -s) makes it.`,
  options: {
    'c|command': valued('COMMAND', 'the xdsh or rinv command to run'),
    'f|file': filled('FILE', 'a file with that command'),
    'p|tp': valued('TEMPLATE', 'the file of the template'),
    's|seed': valued('NODE', 'make the template from what this node prints'),
    't|tc': valued('COUNT', 'make up to this many more templates of nodes that match none'),
    'e|exactmatch': flag('the output has the lines of the template and no others'),
    'i|ignorefirst': flag('do not list the nodes that match the first template'),
    'r|remove': flag('remove the templates that this call has made'),
    'o|output': filled('FILE', 'write the report to this file'),
    'l|user': valued('USER', 'as this user of the nodes, with xdsh'),
    devicetype: refused('only nodes with a POSIX shell are served.', 'value'),
    ...verbose,
  },
  operands: 1,
  async run(invocation, call) {
    const wanted = commandOf(call);
    const template = call.value('p');
    if (wanted === undefined || template === undefined) return say(invocation, sinv.usage, 1);
    const [range] = call.operands;
    if (range !== undefined && range !== wanted.argv[0])
      throw new UsageError(
        `The command is for ${wanted.argv[0] ?? ''}, not for ${range}: name the nodes in the command.`,
      );
    const report = new Comparison(call, template);
    const { texts, code } = await outputs(invocation, wanted);
    if (texts.size === 0) {
      invocation.stderr.line(errorLine('No node has printed anything that could be compared.'));
      return 1;
    }
    for (const [node, lines] of [...texts].toSorted(([a], [b]) => byName(a, b))) report.add(node, lines, texts);
    const text = report.text();
    const file = call.value('o');
    if (file === undefined) await invocation.stdout.write(text);
    else writeFileSync(file, text);
    if (call.flag('r')) report.removeMade();
    return code;
  },
});

interface Wanted {
  readonly name: 'xdsh' | 'rinv';
  /** The range first. */
  readonly argv: readonly string[];
}

/** What stands behind the range is a command line of the nodes, and stays as it is. */
function commandOf(call: Call): Wanted | undefined {
  const [given, file] = [call.value('c'), call.value('f')];
  if (given !== undefined && file !== undefined) throw new UsageError('Give the command by -c or by -f, not by both.');
  const text = (given ?? (file === undefined ? undefined : readFileSync(file, 'utf8')))?.trim();
  if (text === undefined) return undefined;
  const [, name, range, rest = ''] = /^(?:\S*\/)?(xdsh|rinv)\s+(\S+)(?:\s+([^]*))?$/.exec(text) ?? [];
  if ((name !== 'xdsh' && name !== 'rinv') || range === undefined)
    throw new UsageError('The command must be "xdsh NODERANGE COMMAND" or "rinv NODERANGE KIND".');
  if (/\|\s*xdshcoll\s*$/.test(rest)) throw new UsageError('Leave out "| xdshcoll": sinv gathers the output itself.');
  const words = name === 'rinv' ? rest.split(/\s+/).filter(Boolean) : rest === '' ? [] : [unquoted(rest)];
  const user = call.value('l');
  if (user !== undefined && name === 'rinv') throw new UsageError('-l is for xdsh; rinv asks BMCs.');
  return { name, argv: user === undefined ? [range, ...words] : [range, '-l', user, ...words] };
}

const unquoted = (text: string): string => /^(["'])([^]*)\1$/.exec(text)?.[2] ?? text;

/** What each node printed, by running the command itself; its errors leave as they come. */
async function outputs(
  invocation: Invocation,
  { name, argv }: Wanted,
): Promise<{ texts: Map<string, string[]>; code: number }> {
  const stdout = new GatheredOutput();
  const command = await commands[name]!.load();
  const code = await command.run({ ...invocation, name, argv, stdout });
  const texts = new Map<string, string[]>();
  for (const line of stdout.text.split('\n')) {
    const { node, text } = splitLine(line);
    if (node === undefined) continue;
    const lines = texts.get(node);
    if (lines) lines.push(text);
    else texts.set(node, [text]);
  }
  return { texts, code: code > 0 ? 1 : 0 };
}

interface Template {
  readonly file: string;
  readonly lines: readonly string[];
  readonly made: boolean;
  readonly nodes: string[];
}

class Comparison {
  readonly #exact: boolean;
  readonly #skipsFirst: boolean;
  readonly #seed: string | undefined;
  readonly #path: string;
  readonly #most: number;
  readonly #templates: Template[] = [];
  readonly #others: { readonly node: string; readonly difference: string }[] = [];

  constructor(call: Call, path: string) {
    const count = call.value('t') ?? '0';
    if (!/^\d{1,6}$/.test(count)) throw new UsageError(`-t is a number of templates, not "${count}".`);
    this.#exact = call.flag('e');
    this.#skipsFirst = call.flag('i');
    this.#seed = call.value('s');
    this.#path = path;
    this.#most = Number(count);
  }

  add(node: string, lines: readonly string[], all: ReadonlyMap<string, readonly string[]>): void {
    if (this.#templates.length === 0) this.#templates.push(this.#first(node, lines, all));
    const match = this.#templates.find((template) => this.#matches(template.lines, lines));
    if (match) match.nodes.push(node);
    else if (this.#templates.length <= this.#most)
      this.#templates.push({ ...this.#make(`${this.#path}_${this.#templates.length}`, node, lines), nodes: [node] });
    else this.#others.push({ node, difference: lineDiff(this.#templates[0]!.lines, lines).join('\n') });
  }

  text(): string {
    const blocks = this.#templates.flatMap(({ file, nodes }, at) => {
      if (this.#skipsFirst && at === 0) return [];
      return `Nodes that match ${file}:\n${nodes.length === 0 ? 'none' : foldNames(nodes)}\n\n`;
    });
    if (this.#others.length === 0) return blocks.join('');
    const byDifference = Map.groupBy(this.#others, ({ difference }) => difference);
    const folded = [...byDifference].map(([difference, nodes]) =>
      foldedBlock(foldNames(nodes.map(({ node }) => node)), difference),
    );
    const head = `Nodes that match no template, and how they differ from ${this.#templates[0]!.file}:\n`;
    return [...blocks, head, ...folded].join('');
  }

  removeMade(): void {
    for (const { file, made } of this.#templates) if (made) rmSync(file, { force: true });
  }

  /** That of the seed, or the file that is there, or the first node's. */
  #first(node: string, lines: readonly string[], all: ReadonlyMap<string, readonly string[]>): Template {
    const seed = this.#seed;
    if (seed !== undefined) {
      const printed = all.get(seed);
      if (!printed) throw new UsageError(`The node ${seed} of -s has printed nothing.`);
      return this.#make(this.#path, seed, printed);
    }
    if (!existsSync(this.#path)) return this.#make(this.#path, node, lines);
    return { file: this.#path, lines: templateLines(readFileSync(this.#path, 'utf8')), made: false, nodes: [] };
  }

  #make(file: string, node: string, lines: readonly string[]): Template {
    writeFileSync(file, foldedBlock(node, lines.join('\n')));
    return { file, lines, made: true, nodes: [] };
  }

  #matches(template: readonly string[], lines: readonly string[]): boolean {
    if (this.#exact) return template.length === lines.length && template.every((line, at) => line === lines[at]);
    const has = new Set(lines);
    return template.every((line) => has.has(line));
  }
}

/** The lines of a template without comments and without the names above them, as xdshcoll and xdshbak write these. */
function templateLines(text: string): string[] {
  const lines = text.split('\n');
  return lines.filter((line, at) => {
    if (line.trim() === '' || line.startsWith('#') || isRule(line)) return false;
    if (/^HOSTS? ?[:-]/.test(line)) return false;
    return !(isRule(lines[at - 1]) && isRule(lines[at + 1]));
  });
}

const isRule = (line: string | undefined): boolean => /^(?:={8,}|-{4,}|HOSTS -+)$/.test(line ?? '');
