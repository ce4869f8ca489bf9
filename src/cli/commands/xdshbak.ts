import type { CliCommand } from '../invocation.ts';
import { splitLine } from '../node-lines.ts';
import { parseOptions } from '../options.ts';

const width = 79;

interface Block {
  readonly node: string;
  readonly lines: string[];
}

export const command: CliCommand = {
  usage: `Usage: COMMAND | xdshbak [-c | -x [-b]] [-q]

Shows the lines "NODE: TEXT" of its input below the names of their nodes. The lines of a node must stand together; xcoll gathers them.

  -c   equal texts once, under the names of all nodes that have them
  -x   the lines as they are, sorted by node
  -b   with -x: without the names
  -q   says nothing else`,
  async run({ argv, stdin, stdout }) {
    const options = parseOptions(argv, { 'help|h': 'flag', c: 'flag', x: 'flag', b: 'flag', q: 'flag' });
    if (options.flag('help') || options.unknown.length > 0) {
      stdout.line(command.usage);
      return options.flag('help') ? 0 : 1;
    }
    const blocks: Block[] = [];
    for await (const line of stdin.lines()) {
      const { node, text } = splitLine(line);
      if (node === undefined) continue;
      const last = blocks.at(-1);
      if (last?.node === node) last.lines.push(text);
      else blocks.push({ node, lines: [text] });
    }
    // Of a node whose lines do not stand together, every block shows the last one, as scripts know it.
    const texts = new Map(blocks.map(({ node, lines }) => [node, lines]));
    const nodes = blocks.map(({ node }) => node).sort();
    if (options.flag('x')) {
      for (const node of nodes)
        for (const text of texts.get(node)!) await stdout.line(options.flag('b') ? text : `${node}: ${text}`);
    } else await stdout.write(options.flag('c') ? joined(nodes, texts) : apart(nodes, texts));
    return 0;
  },
};

type Texts = ReadonlyMap<string, readonly string[]>;

const apart = (nodes: readonly string[], texts: Texts): string =>
  nodes.map((node) => `HOST:${node}\n${'-'.repeat(node.length + 6)}\n${texts.get(node)!.join('\n')}\n`).join('\n');

function joined(nodes: readonly string[], texts: Texts): string {
  const names = new Map<string, string[]>();
  for (const node of new Set(nodes)) {
    const text = texts.get(node)!.join('\n');
    const same = names.get(text);
    if (same) same.push(node);
    else names.set(text, [node]);
  }
  return [...names]
    .map(([text, list]) => `${'HOSTS '.padEnd(width, '-')}\n${list.join(', ')}\n${'-'.repeat(width)}\n${text}\n`)
    .join('\n');
}
