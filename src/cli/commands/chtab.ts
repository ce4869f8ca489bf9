import { path } from '../client.ts';
import { type Call, type CliCommand, type Invocation, say, xcatCommand } from '../command.ts';
import { changing, reading } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine, ignoredLine, referenceVersion, resultLine } from '../lines.ts';
import { type RowChange, writeTried } from '../muster/row-diff.ts';
import { flag } from '../options.ts';

/** How chtab and tabch differ: they say the same in other words. */
interface TableWriter {
  readonly name: string;
  readonly version?: string;
  unknownTable(invocation: Invocation, table: string): number;
  unknownColumn(invocation: Invocation, column: string): number;
}

const tableWriter = ({ name, version, ...writer }: TableWriter): CliCommand => {
  const command = xcatCommand({
    usage: `Usage: ${name} COLUMN=VALUE[,COLUMN=VALUE...] TABLE.COLUMN=VALUE | TABLE.COLUMN+=ITEM [...]
       ${name} -d COLUMN=VALUE[,COLUMN=VALUE...] TABLE [...]
       ${name} -h | --help | -v | --version

Changes the rows that have the given values, or makes one; with -d it removes them. += puts an item into a list, if it is not there.`,
    ...(version === undefined ? {} : { version }),
    options: { 'delete|d': flag('remove the rows') },
    common: changing,
    triesItself: true,
    async run(invocation, call) {
      const [keys, ...words] = call.operands;
      if (keys === undefined) return say(invocation, command.usage, 1);
      const form = call.flag('delete') ? `${name} -d COLUMN=VALUE TABLE` : `${name} COLUMN=VALUE TABLE.COLUMN=VALUE`;
      if (!/^[^=.]+=/.test(keys))
        throw new UsageError(`"${keys}" is not COLUMN=VALUE, by which ${name} finds the rows. Write ${form}.`);
      if (words.length > 0) return writeTables(invocation, call, writer);
      if (call.flag('delete')) throw new UsageError(`The table is missing. Write ${name} -d ${keys} TABLE.`);
      invocation.stderr.line(ignoredLine(keys, `nothing is to be set; write ${name} ${keys} TABLE.COLUMN=VALUE.`));
      return 0;
    },
  });
  return command;
};

type Words = Pick<TableWriter, 'unknownTable' | 'unknownColumn'>;

/** Changes or removes the rows of tables that have the given values. */
async function writeTables(invocation: Invocation, call: Call, writer: Words): Promise<number> {
  const { stderr } = invocation;
  const [keys = '', ...words] = call.operands;
  const { dryRun } = call.common;
  if (call.flag('delete')) {
    const writes = words.map((table): Write => ({ method: 'DELETE', table, keys }));
    return inOrder(invocation, writer, writes, dryRun);
  }
  const written = new Map<string, WrittenColumns>();
  for (const word of words) {
    const [, table, column, plus, value = ''] = /^([^.=]+)\.([^=+]+)(\+?)=(.*)$/s.exec(word) ?? [];
    if (table === undefined || column === undefined || /[,^:-]$/.test(column)) {
      stderr.line(`Error: "${word}" is not TABLE.COLUMN=VALUE.`);
      return 1;
    }
    const { columns, add } = written.get(table) ?? { columns: {}, add: new Set<string>() };
    written.set(table, { columns, add });
    if (plus === '+') {
      if (columns[column] === undefined) add.add(column);
      columns[column] = columns[column] ? `${columns[column]},${value}` : value;
    } else if (columns[column] === undefined || (columns[column] === value && !add.has(column)))
      columns[column] = value;
    // What was given before would be dropped.
    else throw new UsageError(`${table}.${column} was given twice; give it once.`);
  }
  const writes = [...written].map(([table, values]): Write => ({ method: 'PUT', table, keys, ...values }));
  return inOrder(invocation, writer, writes, dryRun);
}

interface WrittenColumns {
  readonly columns: Record<string, string>;
  /** Columns that are lists, to which each row adds the items. */
  readonly add: Set<string>;
}

interface Write {
  readonly method: 'PUT' | 'DELETE';
  readonly table: string;
  readonly keys: string;
  readonly columns?: Readonly<Record<string, string>>;
  readonly add?: ReadonlySet<string>;
}

/** Where there are several tables, all are tried before the first is written. */
async function inOrder(
  invocation: Invocation,
  writer: Words,
  writes: readonly Write[],
  dryRun: boolean,
): Promise<number> {
  const { client } = invocation;
  const send = ({ method, table, keys, columns, add }: Write, tried: Record<string, string> = {}) => {
    const query = { ...tried, ...(add && add.size > 0 ? { add: [...add].join(',') } : {}) };
    return client.call(method, path('tables', table, 'rows', keys), { query, ...(columns ? { body: columns } : {}) });
  };
  const tries = dryRun || writes.length > 1;
  const changes: RowChange[] = [];
  for (const write of writes) {
    try {
      const { body } = await send(write, tries ? { dryRun: '1' } : {});
      if (tries) changes.push(...(body as { changes: readonly RowChange[] }).changes);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const [strange] = error.missing;
      if (strange === write.table) return writer.unknownTable(invocation, write.table);
      if (strange?.startsWith(`${write.table}.`)) return writer.unknownColumn(invocation, strange);
      throw error;
    }
  }
  if (dryRun) await writeTried(invocation, { changes });
  else if (tries) for (const write of writes) await send(write);
  return 0;
}

export const chtab = tableWriter({
  name: 'chtab',
  version: `chtab Version ${referenceVersion}`,
  unknownTable: (invocation, table) => say(invocation, `Table ${table} does not exist.`, 1),
  unknownColumn({ stderr }, column) {
    stderr.line(errorLine(`There is no column ${column}.`));
    return 2;
  },
});

const refuse = ({ stderr, client }: Invocation, text: string): number => {
  stderr.line(errorLine(text, client.server));
  return 1;
};

export const tabch = tableWriter({
  name: 'tabch',
  unknownTable: (given, table) => refuse(given, `${table} not a valid table.column description`),
  unknownColumn: (given, column) => refuse(given, `${column} not a valid table.column description`),
});

export const gettab = xcatCommand({
  usage: `Usage: gettab [-H] COLUMN=VALUE[,COLUMN=VALUE...] TABLE.COLUMN [...]
       gettab -h | --help

Shows columns of the row that has the values. It ignores values of groups.`,
  options: { 'H|with-fieldname': flag('show the columns before their values') },
  version: false,
  common: reading,
  async run(invocation, options) {
    const { stdout, stderr, client, env } = invocation;
    const [keys, ...words] = options.operands;
    if (keys === undefined || words.length === 0) return say(invocation, gettab.usage, 1);
    const { format } = options.common;
    const found: Record<string, string> = {};
    const long = options.flag('H') || words.length > 1;
    const rows = new Map<string, Row | undefined>();
    for (const word of new Set(words)) {
      const [table = '', column = ''] = word.split('.', 2);
      if (!rows.has(table)) {
        const row = await rowWith(invocation, table, keys);
        if (typeof row === 'string') {
          stderr.line(errorLine(`Unknown key ${row} to ${table}`, client.server));
          return 1;
        }
        rows.set(table, row);
      }
      const row = rows.get(table);
      if (row?.[column] === undefined && !(await hasColumn(invocation, table, column))) {
        stderr.line(ignoredLine(word, `there is no such column; tabdump -d ${table} lists the columns of the table.`));
        continue;
      }
      if (!row) continue;
      const value = row[column] ?? '';
      found[word] = value;
      if (!format) stdout.line(resultLine(long ? `${word}: ${value}` : value, { env, server: client.server }));
    }
    if (format) return writeData(invocation, format, [found]);
    return 0;
  },
});

type Row = Readonly<Record<string, string>>;

/** The first such row; undefined if there is none, the name of a column if that is none of the table. */
async function rowWith({ client }: Invocation, table: string, keys: string): Promise<Row | string | undefined> {
  try {
    const reply = (await client.get(path('tables', table, 'rows', keys))) as Record<string, Row[]>;
    return reply[table]?.[0];
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const [strange] = error.missing;
    if (error.kind === 'unknown-object' && strange === undefined) return undefined;
    if (strange === table) return keys.split('=', 1)[0]!;
    if (strange?.startsWith(`${table}.`)) return strange.slice(table.length + 1);
    throw error;
  }
}

async function hasColumn({ client }: Invocation, table: string, column: string): Promise<boolean> {
  const type = `tables.${table}`;
  const reply = (await client.get(path('attributes', type))) as Record<string, object>;
  return Object.hasOwn(reply[type] ?? {}, column);
}

export const tabgrep = xcatCommand({
  usage: `Usage: tabgrep NODERANGE

Lists the tables that have a row of one of the nodes, or of one of their groups.`,
  operands: 1,
  common: reading,
  async run(invocation, { operands: [range], common: { format } }) {
    const { client, stdout } = invocation;
    if (range === undefined) return say(invocation, tabgrep.usage, 1);
    const tables = (await client.get(path('nodes', range, 'tables'))) as string[];
    if (format)
      return writeData(
        invocation,
        format,
        tables.map((table) => ({ table })),
      );
    for (const table of tables) stdout.line(table);
    return 0;
  },
});
