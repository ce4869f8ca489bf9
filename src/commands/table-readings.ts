import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { nodeTables, tableNamed, tables as allTables } from '../database/tables.ts';
import { effectiveReader } from '../objects/effective.ts';
import { allNodes, visibleNodes } from '../objects/groups.ts';
import {
  logRows,
  nodeRows,
  nodeTableNamed,
  ownersOf,
  parseKeys,
  rowsMeant,
  storedRows,
  concernsNodes,
} from '../objects/table-access.ts';
import { shownKeys } from '../objects/shown-arguments.ts';
import { dumpTable, secretForms, type TableDump } from '../objects/table-dump.ts';
import {
  everyNode,
  hiddenArgument,
  nodeArguments,
  noLine,
  noSelection,
  query,
  type Rows,
  selectNodes,
} from './command.ts';

export const getAttribs = query({
  name: 'getAttribs',
  showsPast: ({ table }) => !tableNamed(table).log,
  args: Type.Object({
    table: Type.String(),
    keys: Type.String({ description: 'column=value,...' }),
    columns: Type.Optional(Type.Array(Type.String())),
  }),
  uses: ['store'],
  line: ({ table, keys }) => [table, shownKeys(table, keys)],
  select(snapshot, { table: name, keys: text }, { ranges: { sees } }) {
    const table = tableNamed(name);
    const keys = parseKeys(table, text);
    const { nodeColumn } = table;
    if (nodeColumn === undefined) return concernsNodes(table) ? everyNode : noSelection;
    const rows = rowsMeant(snapshot, table, keys, sees);
    return { objects: undefined, nodes: ownersOf(snapshot, nodeColumn, keys, rows) };
  },
  async run(snapshot, { table: name, keys: text, columns }, { store, ranges: { sees } }) {
    const table = tableNamed(name);
    const keys = parseKeys(table, text);
    const rows = table.log
      ? await logRows(store, table, keys, columns)
      : [...storedRows(snapshot, table, keys, columns, sees)];
    if (rows.length === 0)
      throw new Fault('unknown-object', `Table "${name}" has no row with ${text} and a value in the wanted columns.`, {
        reference: ['No table rows matched specified keys or attributes'],
      });
    return { shape: 'rows', tables: [[name, rows]] };
  },
});

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

export const getTablesAllRowAttribs = query({
  name: 'getTablesAllRowAttribs',
  showsPast: ({ tables }) => !tables.some((name) => tableNamed(name).log),
  args: Type.Object({ tables: Type.Array(Type.String()), columns: Type.Optional(Type.Array(Type.String())) }),
  uses: ['store'],
  line: ({ tables }) => [tables.join(',')],
  select: (_snapshot, { tables }) => (tables.some((name) => concernsNodes(tableNamed(name))) ? everyNode : noSelection),
  async run(snapshot, { tables, columns }, { store }) {
    const rows: Rows['tables'][number][] = [];
    for (const table of tables.map(tableNamed)) {
      rows.push([
        table.name,
        table.log ? await logRows(store, table, {}, columns) : storedRows(snapshot, table, undefined, columns),
      ]);
    }
    return { shape: 'rows', tables: rows };
  },
});

/** Tables as they are stored; without any, the names of all. */
export const tabdump = query({
  name: 'tabdump',
  args: Type.Object({
    tables: Type.Optional(Type.Array(Type.String())),
    secrets: Type.Optional(
      Type.Enum([...secretForms], { description: 'in which form secrets are shown; absent: hidden' }),
    ),
  }),
  uses: ['store', 'secrets'],
  line: ({ tables = [], secrets }) => [...(secrets === undefined ? [] : [`--secrets=${secrets}`]), ...tables],
  select: (_snapshot, { tables = [] }) =>
    tables.some((name) => concernsNodes(tableNamed(name))) ? everyNode : noSelection,
  async run(snapshot, { tables, secrets: form }, { store, secrets: box, caller }) {
    if (form !== undefined && !caller.hasFullRights())
      throw new Fault('denied', `User "${caller.user}" may not read secrets: that needs full rights.`);
    if (!tables) return { shape: 'list', items: [...allTables.keys()] };
    const dumps: Record<string, TableDump> = {};
    for (const table of tables.map(tableNamed)) {
      dumps[table.name] = table.log
        ? { columns: table.columns, keys: table.keys, rows: await logRows(store, table, {}, undefined) }
        : await dumpTable(
            snapshot,
            table,
            await store.database.storedOrder(table.name),
            form === undefined ? undefined : { box, form },
          );
    }
    // Logs grow with every reading; nobody could say which one they have seen.
    const tagged = form === undefined && !tables.some((name) => tableNamed(name).log);
    return { shape: 'value', value: dumps, ...(tagged ? { dependsOn: tables } : {}) };
  },
});

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
