import type { Client } from '../client.ts';
import { xcatCommand } from '../command.ts';
import { Garbled, NotReached, Refused } from '../errors.ts';
import { byName, countLines, foldedBlock, linesByNode, splitLine } from '../lines.ts';
import { flag } from '../options.ts';

export const xcoll = xcatCommand({
  usage: `Usage: COMMAND | xcoll [-n] [-c]

Gathers the lines "NODE: TEXT" of its input by node and shows equal texts once, under the names of all nodes that have them. Names that
make up a whole group are shown as that group.`,
  options: {
    n: flag('no group names'),
    c: flag('the number of nodes too'),
    // As recorded: it is called unknown, and the lines are gathered all the same.
    v: 'flag',
  },
  version: false,
  operands: 0,
  async run({ stdin, stdout, stderr, client }, options) {
    if (options.flag('v')) stderr.line('Unknown option: v');
    const texts = new Map<string, string[]>();
    for (const [node, lines] of await linesByNode(stdin, 'UNKNOWN')) {
      const text = lines.join('\n');
      const names = texts.get(text);
      if (names) names.push(node);
      else texts.set(text, [node]);
    }
    if (texts.size === 0) return 0;
    const groups = options.flag('n') ? [] : await groupsOf(client);
    for (const [text, names] of texts) {
      const shown = folded(names, groups);
      const count = options.flag('c') ? countLines(names.length) : '';
      await stdout.write(foldedBlock(shown.join(','), `${count}${text}`));
    }
    return 0;
  },
});

interface Group {
  readonly name: string;
  readonly members: readonly string[];
}

/** The largest first. Without a server, or without the right to read them, there are none: what is folded stays true. */
async function groupsOf(client: Client): Promise<Group[]> {
  let rows: Readonly<Record<string, readonly { name: string; groups?: string }[]>>;
  try {
    rows = (await client.get('/tables/nodelist/nodes/ALLNODES/groups')) as typeof rows;
  } catch (error) {
    if (error instanceof NotReached || error instanceof Refused || error instanceof Garbled) return [];
    throw error;
  }
  const members = new Map<string, string[]>();
  for (const { name, groups = '' } of rows['nodelist'] ?? [])
    for (const group of new Set(groups.split(','))) {
      const list = members.get(group);
      if (list) list.push(name);
      else if (group !== '') members.set(group, [name]);
    }
  const found = [...members].map(([name, list]) => ({ name, members: list }));
  return found.sort((a, b) => b.members.length - a.members.length || (a.name < b.name ? -1 : 1));
}

/** Names with groups in the place of all their members. */
function folded(names: readonly string[], groups: readonly Group[]): string[] {
  const left = new Set(names);
  const shown: string[] = [];
  for (const { name, members } of groups) {
    if (members.length > left.size || !members.every((member) => left.has(member))) continue;
    shown.push(name);
    for (const member of members) left.delete(member);
  }
  return [...shown, ...[...left].sort()];
}

export const xdshcoll = xcatCommand({
  usage: `Usage: COMMAND | xdshcoll

Gathers the lines "NODE: TEXT" of its input by node and shows equal texts once, under the names of all nodes that have them, as xcoll -n
does. sinv reads it as a template.`,
  operands: 0,
  async run({ stdin, stdout }) {
    const texts = Map.groupBy(await linesByNode(stdin, 'UNKNOWN'), ([, lines]) => lines.join('\n'));
    for (const [text, nodes] of texts)
      await stdout.write(
        foldedBlock(
          nodes
            .map(([node]) => node)
            .toSorted()
            .join(','),
          text,
        ),
      );
    return 0;
  },
});

const width = 79;

interface Block {
  readonly node: string;
  readonly lines: string[];
}

export const xdshbak = xcatCommand({
  usage: `Usage: COMMAND | xdshbak [-c | -x [-b]] [-q]

Shows the lines "NODE: TEXT" of its input below the names of their nodes. The lines of a node must stand together; xcoll gathers them.`,
  options: {
    c: flag('equal texts once, under the names of all nodes that have them'),
    x: flag('the lines as they are, sorted by node'),
    b: flag('with -x: without the names'),
    q: flag('accepted for scripts; changes nothing'),
  },
  version: false,
  operands: 0,
  async run({ stdin, stdout }, options) {
    const blocks: Block[] = [];
    for await (const line of stdin.lines()) {
      const { node, text } = splitLine(line);
      if (node === undefined) continue;
      const last = blocks.at(-1);
      if (last?.node === node) last.lines.push(text);
      else blocks.push({ node, lines: [text] });
    }
    if (options.flag('c')) {
      await stdout.write(joined(blocks));
      return 0;
    }
    // Of a node whose lines do not stand together, every block shows the last one, as scripts know it.
    const texts = new Map(blocks.map(({ node, lines }) => [node, lines]));
    const nodes = blocks.map(({ node }) => node).sort();
    if (options.flag('x')) {
      for (const node of nodes)
        for (const text of texts.get(node)!) await stdout.line(options.flag('b') ? text : `${node}: ${text}`);
    } else await stdout.write(apart(nodes, texts));
    return 0;
  },
});

type Texts = ReadonlyMap<string, readonly string[]>;

const apart = (nodes: readonly string[], texts: Texts): string =>
  nodes.map((node) => `HOST:${node}\n${'-'.repeat(node.length + 6)}\n${texts.get(node)!.join('\n')}\n`).join('\n');

/** Every block counts: a node whose lines do not stand together is named with each of its texts. */
function joined(blocks: readonly Block[]): string {
  const names = new Map<string, string[]>();
  for (const { node, lines } of blocks) {
    const text = lines.join('\n');
    const same = names.get(text);
    if (same) same.push(node);
    else names.set(text, [node]);
  }
  return [...names]
    .map(
      ([text, list]) =>
        `${'HOSTS '.padEnd(width, '-')}\n${list.sort(byName).join(', ')}\n${'-'.repeat(width)}\n${text}\n`,
    )
    .join('\n');
}
