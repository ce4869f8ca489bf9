import { Fault } from '../core/errors.ts';
import { suggestion } from '../core/nearest.ts';
import meanings from '../database/meanings.json' with { type: 'json' };
import readers from '../database/readers.json' with { type: 'json' };
import { isCalledSecret } from '../database/secret-columns.ts';
import { type Table, tableNamed, tables } from '../database/tables.ts';
import siteMeanings from './site-meanings.json' with { type: 'json' };
import { type Mapping, type ObjectType, objectTypes } from './types.ts';

/** What somebody who writes an attribute or a column wants to know of it. */
export interface Described {
  readonly meaning: string;
  /** All values are texts; this is what the text must be. */
  readonly type: string;
  /** Tables and columns, with the condition where there is one. */
  readonly stored: readonly string[];
  /** Services and commands that do something with it. Definitions, tables and node ranges have all of them. */
  readonly readBy: string;
}

type List = Readonly<Record<string, Described>>;

interface TableMeaning {
  readonly about: string;
  readonly columns: Readonly<Record<string, string>>;
}

/** By reader, the columns of tables and the attributes of the site. */
const reads: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = readers;

const nobody = 'nothing: kept for people and clients';
const onlyScripts = 'nothing but postscripts, whose environment has all of the site';

const readersOf = (table: string, column: string): string[] =>
  Object.keys(reads).filter((reader) => reads[reader]![table]?.includes(column));

function readersOfColumn({ name, keys, nodeColumn, log }: Table, column: string): string[] {
  if (log) return [`GET /tables/${name}`];
  if (name === 'site') return ['as each attribute of the site says'];
  // What identifies a row, and what hides it, is read wherever another column of it is.
  const common = column === 'disable' || column === nodeColumn || keys.includes(column);
  return common ? Object.keys(reads).filter((reader) => reads[reader]![name]) : readersOf(name, column);
}

const tableMeanings: Readonly<Record<string, TableMeaning>> = meanings;

/** Of columns that many tables have. */
const everywhere: Readonly<Record<string, string>> = {
  node: 'node or group the row is about',
  comments: 'your notes',
  disable: '1 or yes: muster ignores the row',
};

/** Forms that values are checked for. */
const forms: Readonly<Record<string, string>> = {
  'consolepattern.pattern': 'pattern',
  'hooks.url': 'URL',
  'hooks.command': 'name of a program',
  'hooks.kinds': 'kinds of events, separated by commas',
  'hosts.ip': 'IP address',
  'ipmi.bmc': 'addresses or host names, separated by commas',
  'ipmi.bmcport': 'number of a port',
  'openbmc.bmc': 'address or host name',
  'mac.mac': 'MAC addresses',
  'networks.net': 'network address',
  'networks.mask': 'network mask',
  'networks.gateway': 'IP address or <xcatmaster>',
  'networks.tftpserver': 'address or host name',
  'networks.dhcpserver': 'address or host name',
  'networks.mtu': 'number of bytes',
  'routes.net': 'network address',
  'routes.mask': 'network mask',
  'policy.priority': 'number such as 4 or 4.2',
};

/** Of attributes that are not what their column is. */
const ownMeanings: Readonly<Record<string, string>> = {
  'group members': 'nodes of the group, as a node range when written',
  'site key': 'name of the setting',
  'site value': 'its value',
};

const describeColumn = (table: Table, column: string): Described => ({
  meaning: tableMeanings[table.name]?.columns[column] ?? everywhere[column] ?? '',
  type: typeOf(table, column),
  stored: [`${table.name}.${column}`],
  readBy: readersOfColumn(table, column).join(', ') || nobody,
});

const secretForm = 'secret: written and never shown';

function typeOf(table: Table, column: string): string {
  if (table.secret.has(column)) return secretForm;
  return forms[`${table.name}.${column}`] ?? 'text';
}

function describeAttribute(type: ObjectType, name: string, at: readonly Mapping[]): Described {
  const { table, column } = at[0]!;
  const described = describeColumn(tableNamed(table), column);
  const places = at.map(({ onlyIf, ...where }) =>
    onlyIf ? `${where.table}.${where.column} if ${onlyIf[0]} is ${onlyIf[1]}` : `${where.table}.${where.column}`,
  );
  const own = ownMeanings[`${type.name} ${name}`];
  const found = new Set(at.flatMap((where) => readersOfColumn(tableNamed(where.table), where.column)));
  return {
    ...described,
    ...(own === undefined ? {} : { meaning: own }),
    stored: [...new Set(places)],
    readBy: [...found].join(', ') || nobody,
  };
}

function attributesOf(type: ObjectType): List {
  if (type.name === 'site') return siteList;
  const found = [...type.attributes].map(([name, { at }]) => [name, describeAttribute(type, name, at)] as const);
  return Object.fromEntries(found.filter(([name]) => name !== type.key));
}

const siteList: List = Object.fromEntries(
  Object.entries(siteMeanings).map(([name, meaning]) => [
    name,
    {
      meaning,
      type: isCalledSecret(name) ? secretForm : 'text',
      stored: [`site.value of ${name}`],
      readBy: readersOf('site', name).join(', ') || onlyScripts,
    },
  ]),
);

const columnsOf = (table: Table): List =>
  Object.fromEntries(table.columns.map((column) => [column, describeColumn(table, column)]));

/** What the tables are about. */
const tableList: List = Object.fromEntries(
  [...tables.values()].map((table) => [
    table.name,
    {
      meaning: tableMeanings[table.name]?.about ?? '',
      type: 'table',
      stored: [table.name],
      readBy:
        Object.keys(reads)
          .filter((reader) => reads[reader]![table.name])
          .join(', ') || nobody,
    },
  ]),
);

/** Of all object types by their names, of tables as `tables.NAME`, and of `tables` the tables themselves. */
export const attributeLists: ReadonlyMap<string, List> = new Map([
  ...[...objectTypes].map(([name, type]) => [name, attributesOf(type)] as const),
  ...[...tables].map(([name, table]) => [`tables.${name}`, columnsOf(table)] as const),
  ['tables', tableList] as const,
]);

export function attributeList(name: string): List {
  const list = attributeLists.get(name);
  if (list) return list;
  throw new Fault(
    'unknown-object',
    `There is no type of objects "${name}"; tables are named as in tables.nodelist.${suggestion(name, attributeLists.keys())}`,
  );
}
