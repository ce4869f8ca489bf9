import { Type } from 'typebox';
import { nodeRows, nodeTableNamed } from '../objects/table-access.ts';
import { hiddenArgument, query, selectNodes } from './command.ts';

export const getTablesNodesAttribs = query({
  name: 'getTablesNodesAttribs',
  showsPast: () => true,
  args: Type.Object({
    tables: Type.Array(Type.String()),
    range: Type.String(),
    columns: Type.Optional(Type.Array(Type.String())),
    ...hiddenArgument,
  }),
  line: ({ tables }) => [tables.join(',')],
  select: selectNodes,
  run(snapshot, { tables, columns }, { selection: { nodes = [] } }) {
    return {
      shape: 'rows',
      tables: tables.map((name) => [name, nodeRows(snapshot, nodeTableNamed(name), nodes, columns)]),
    };
  },
});
