import { Type } from 'typebox';
import { columnOrigins, effectiveColumns, nodeColumns } from '../objects/node-columns.ts';
import { hiddenArgument, nodeArguments, query, selectNodes } from './command.ts';

export const nodels = query({
  name: 'nodels',
  showsPast: () => true,
  args: Type.Object({
    ...nodeArguments,
    ...hiddenArgument,
    columns: Type.Optional(Type.Array(Type.String())),
    origins: Type.Optional(Type.Boolean()),
  }),
  line: ({ columns = [] }) => columns,
  select: selectNodes,
  run(snapshot, { columns: names, origins }, { selection: { objects = [] } }) {
    if (names === undefined) return { shape: 'list', items: objects };
    const columns = nodeColumns(names);
    const attributes = (origins ? columnOrigins : effectiveColumns)(snapshot, columns);
    return { shape: 'objects', names: objects, attributes };
  },
});
