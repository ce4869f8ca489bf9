import { Type } from 'typebox';
import { allNodes, visibleNodes } from '../objects/groups.ts';
import { nodeRows, nodeTableNamed } from '../objects/table-access.ts';
import { hiddenArgument, query } from './command.ts';

/** Like the reading of named nodes, but only of those that have anything in the table. */
export const getTablesAllNodeAttribs = query({
  name: 'getTablesAllNodeAttribs',
  showsPast: () => true,
  args: Type.Object({
    tables: Type.Array(Type.String()),
    columns: Type.Optional(Type.Array(Type.String())),
    ...hiddenArgument,
  }),
  line: ({ tables }) => [tables.join(',')],
  select(snapshot, { hidden }) {
    const nodes = hidden ? allNodes(snapshot) : visibleNodes(snapshot);
    return { objects: nodes, nodes };
  },
  run(snapshot, { tables, columns }, { selection: { nodes = [] } }) {
    const withValues = (name: string) =>
      nodeRows(snapshot, nodeTableNamed(name), nodes, columns).filter((row) => Object.keys(row).length > 1);
    return { shape: 'rows', tables: tables.map((name) => [name, withValues(name)]) };
  },
});
