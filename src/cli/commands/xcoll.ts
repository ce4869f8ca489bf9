import { Garbled, NotReached, Refused } from '../client-errors.ts';
import type { Client } from '../client.ts';
import { countLines, foldedBlock } from '../folded-block.ts';
import type { CliCommand } from '../invocation.ts';
import { linesByNode } from '../node-lines.ts';
import { parseOptions } from '../options.ts';

export const command: CliCommand = {
  usage: `Usage: COMMAND | xcoll [-n] [-c]

Gathers the lines "NODE: TEXT" of its input by node and shows equal texts once, under the names of all nodes that have them. Names that
make up a whole group are shown as that group.

  -n   no group names
  -c   the number of nodes too`,
  async run({ argv, stdin, stdout, stderr, client }) {
    const options = parseOptions(argv, { n: 'flag', c: 'flag' });
    for (const unknown of options.unknown) stderr.line(`Unknown option: ${unknown}`);
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
};

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
