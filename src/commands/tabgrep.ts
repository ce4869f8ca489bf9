import { Type } from 'typebox';
import { nodeTables } from '../database/tables.ts';
import { effectiveReader } from '../objects/effective.ts';
import { noLine, nodeArguments, query, selectNodes } from './command.ts';

/** Tables that have a row of one of the nodes, or of one of their groups. */
export const tabgrep = query({
  name: 'tabgrep',
  args: Type.Object(nodeArguments),
  line: noLine,
  select: selectNodes,
  run(snapshot, _args, { selection: { nodes = [] } }) {
    const reader = effectiveReader(snapshot);
    const names = new Set(nodes.flatMap((node) => [node, ...reader.groupsOf(node)]));
    const holds = nodeTables.filter((table) => names.values().some((name) => reader.ownRows(table, name).length > 0));
    return { shape: 'list', items: holds.map(({ name }) => name) };
  },
});
