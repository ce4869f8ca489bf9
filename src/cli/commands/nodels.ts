import { everyNode, path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { readingNodes } from '../common-options.ts';
import { writeData } from '../formats.ts';
import { nodeFromServer } from '../from-server.ts';
import { ignoredLine, nodeLine } from '../lines.ts';
import { foldNames, ResultWriter } from '../nodes/results.ts';
import { flag } from '../options.ts';
import { columnNamed, criterionOf, matches, reportUnknownColumn } from './node-columns.ts';

export const nodels = xcatCommand({
  usage: `Usage: nodels [NODERANGE] [-b] [-H] [-S] [TABLE.COLUMN | TABLE | groups | mgt | CRITERION]...
       nodels -h | --help | -v | --version

Lists nodes, with the values of columns that are in effect for them. A criterion (TABLE.COLUMN==VALUE, !=, =~, !~) leaves out the nodes that
do not meet it.`,
  options: {
    'b|blame': flag('show which group a value comes from'),
    'H|with-fieldname': flag('show the columns before their values'),
    S: flag('show hidden nodes too'),
  },
  common: readingNodes,
  async run(invocation, options) {
    const { stdout, stderr, client, env } = invocation;
    const { format, fold } = options.common;
    const [first = '', ...words] = options.operands;
    if (options.operands[0] === '')
      stderr.line(
        ignoredLine(
          '""',
          'nodels lists all nodes where no noderange is given; check the variable that was to hold it.',
        ),
      );
    const hidden = options.flag('S') ? '1' : undefined;
    const range = rangeOf(first);
    if (words.length === 0) {
      const all = await names(invocation, range, hidden);
      if (format)
        return writeData(
          invocation,
          format,
          all.map((node) => ({ node })),
        );
      if (fold) return say(invocation, foldNames(all));
      await stdout.write(all.map((name) => `${name}\n`).join(''));
      return 0;
    }
    const criteria = words.flatMap((word) => criterionOf(word) ?? []);
    const shown = words.filter((word) => !criterionOf(word)).map(columnNamed);
    const wanted = [...new Set([...criteria.map(({ column }) => column), ...shown])].join(',');
    const at = path('nodes', range === '' ? everyNode : range, 'columns', wanted);
    let values: NodeColumns;
    try {
      values = (await client.get(at, { query: { hidden } })) as NodeColumns;
    } catch (error) {
      return reportUnknownColumn(error, invocation);
    }
    const origins =
      options.flag('b') && shown.length > 0
        ? ((await client.get(path('nodes', range === '' ? everyNode : range, 'columns', shown.join(',')), {
            query: { hidden, origins: '1' },
          })) as NodeColumns)
        : {};
    const long = options.flag('H') || words.length > 1 || shown.some((column) => !column.includes('.'));
    const writer = new ResultWriter(invocation, options.common);
    for (const node of Object.keys(values).sort()) {
      const columns = values[node]!;
      if (!criteria.every((each) => matches(each, columns[each.column] ?? ''))) continue;
      const found = shownColumns(columns, shown);
      const lines = found.map(([column, value]) => {
        const group = origins[node]?.[column];
        const text = `${value}${group === undefined ? '' : ` (inherited from group ${group})`}`;
        return nodeLine(node, long ? `${column}: ${text}` : text, { env, server: client.server });
      });
      await writer.write(
        { node, value: Object.fromEntries(found) },
        { stdout: shown.length === 0 ? [node] : lines, stderr: [] },
      );
    }
    await writer.end();
    return 0;
  },
});

type NodeColumns = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A criterion may stand in the place of the range. */
function rangeOf(word: string): string {
  const criterion = criterionOf(word);
  return criterion ? `${criterion.column}${criterion.operator}${criterion.value}` : word;
}

async function names({ client }: Invocation, range: string, hidden: string | undefined): Promise<string[]> {
  const at = range === '' && hidden === undefined ? '/nodes' : path('nodes', range || everyNode, 'nodels');
  // Scripts and ClusterShell put them on command lines.
  return ((await client.get(at, { query: { hidden } })) as string[]).map(nodeFromServer).sort();
}

/** Those of the words' columns, each once; the word of a table stands for all of its columns. */
function shownColumns(
  columns: Readonly<Record<string, string>>,
  shown: readonly string[],
): readonly (readonly [string, string])[] {
  return Object.entries(columns).filter(([column]) =>
    shown.some((word) => column === word || column.startsWith(`${word}.`)),
  );
}
