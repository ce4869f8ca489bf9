import type { JournalColumns, JournalRow } from '../database/changeset.ts';
import type { JournalEntry } from '../database/database.ts';
import { redacted } from '../database/draft.ts';
import { isCalledSecret, secretColumns, secretColumnsOf } from '../database/secret-columns.ts';
import { keyColumns, type Row, type Table, tableNamed, tables } from '../database/tables.ts';
import { hidden, shownName, withoutSecrets } from './secret-names.ts';
import { isSecret, type ObjectType, splitNic, typeNamed } from './types.ts';

/** Secrets are hidden, and so is what was given for an attribute that is none: it may be a secret under a mistyped name. */
export function shownAttribute(type: ObjectType, name: string, value: string): string {
  const mappings = type.attributes.get(name)?.at ?? type.attributes.get(splitNic(name).base)?.at ?? [];
  // The site has attributes of any name.
  const open = type.name === 'site' ? !isCalledSecret(name) : mappings.length > 0 && !mappings.some(isSecret);
  if (value !== '' && !open) return `${shownName(name)}=${hidden}`;
  return `${shownName(name)}=${name === 'wherevals' ? shownRange(value) : value}`;
}

/** How the reference system writes what a definition command gets about one object. */
export function definitionWords(
  typeName: string,
  name: string,
  attributes: Row = {},
  options: readonly string[] = [],
): string[] {
  return ['-t', typeName, '-o', shownRange(name), ...options, ...attributeWords(typeName, attributes)];
}

/** `name=value` arguments in the order given, secrets replaced. */
export function attributeWords(typeName: string, attributes: Row): string[] {
  const type = typeNamed(typeName);
  return Object.entries(attributes).map(([name, value]) => shownAttribute(type, name, value));
}

/** `row` is what is known of the row that the column is in. */
export function shownColumn(table: string, column: string, value: string, row: Row = {}): string {
  const definition = tables.get(table);
  const open = definition?.columns.includes(column) && !possibleSecrets(definition, row).has(column);
  const name = `${table}.${shownName(column)}`;
  if (value !== '' && !open) return `${name}=${hidden}`;
  return `${name}=${column === 'wherevals' ? shownRange(value) : value}`;
}

/** `keys` name the row that gets the columns. */
export function shownColumns(table: string, columns: Row, keys = ''): string[] {
  const row = { ...columnsIn(keys), ...columns };
  return Object.entries(columns).map(([column, value]) => shownColumn(table, column, value, row));
}

/** Where it is not known what a row is called, its name may make its values secrets. */
function possibleSecrets(table: Table, row: Row): ReadonlySet<string> {
  const { namesSecrets } = table;
  return namesSecrets && row[namesSecrets.name] === undefined ? namesSecrets.values : secretColumns(table, row);
}

/** The keys of a row up to the first that is secret or unknown; such a request is refused, but its arguments are kept. */
export function shownKeys(table: string, keys: string): string {
  const definition = tables.get(table);
  const row = columnsIn(keys);
  const parts = keys.split(',');
  const wrong = parts.findIndex((part) => {
    const column = part.split('=', 1)[0]!.trim();
    return !definition?.columns.includes(column) || possibleSecrets(definition, row).has(column);
  });
  if (wrong < 0) return keys;
  // Without a name it may be the secret itself.
  const part = parts[wrong]!;
  return [...parts.slice(0, wrong), part.includes('=') ? shownName(part) : hidden].join(',');
}

/** `column=value` pairs, whether there are such columns or not. */
function columnsIn(keys: string): Row {
  const pairs = keys.split(',').map((part) => part.split('=', 2).map((text) => text.trim()));
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair.length === 2));
}

/** A condition on a secret says what the secret may be, so nothing is shown from its value on. */
export const shownRange = withoutSecrets;

/** Settings of hardware whose values may be shown; any other, such as a mistyped password, may be a secret. */
const openSettings =
  /^(ip|ipsrc|netmask|gateway|backupgateway|garp|vlan|alert|hostname|solenabled|solbitrate|ntp|ntpservers|userid|username|snmpdest\d*|autoreboot|powerrestorepolicy|timesyncmethod|cappingstatus|cappingvalue)$/;

export const shownSettings = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).map(
    ([name, value]) => `${shownName(name)}=${openSettings.test(name) ? withoutSecrets(value) : hidden}`,
  );

/** A row before and after, as it is shown: of a row that stays only what changed, null for unset; no secrets. */
export interface ShownRow {
  readonly table: string;
  readonly key: Row;
  readonly before: JournalColumns | null;
  readonly after: JournalColumns | null;
}

export interface ShownEntry {
  readonly id: number;
  readonly time: string;
  readonly user: string;
  readonly client: string;
  readonly command: string;
  readonly run: string;
  readonly reverts?: number;
}

/** Whether and how the journal has a row. */
export type ChangedRow = readonly [table: Table, row: JournalRow];

export function shownRow([table, [key, before, after]]: ChangedRow): ShownRow {
  const secret = secretColumnsOf(table, key);
  const shown = (columns: JournalColumns | null): JournalColumns | null =>
    columns && withoutSecretColumns(secret, columns);
  return { table: table.name, key: shown(keyColumns(table, key)) as Row, before: shown(before), after: shown(after) };
}

function withoutSecretColumns(secret: ReadonlySet<string>, columns: JournalColumns): JournalColumns {
  if (secret.size === 0) return columns;
  const shown = { ...columns };
  for (const column of secret) if (shown[column]) shown[column] = redacted;
  return shown;
}

export const shownEntry = ({ revision, time, user, client, command, run, reverts }: JournalEntry): ShownEntry => ({
  id: revision,
  time: new Date(time).toISOString(),
  user,
  client,
  command,
  run,
  ...(reverts === undefined ? {} : { reverts }),
});

/** All rows of an entry. */
export function* rowsOf({ changes }: Pick<JournalEntry, 'changes'>): Generator<ChangedRow, void, void> {
  for (const name in changes) {
    const table = tableNamed(name);
    for (const row of changes[name]!) yield [table, row];
  }
}

/** The node or group whose row it is; undefined in tables that are about neither. */
export function ownerOf({ name, nodeColumn }: Table, key: string): string | undefined {
  if (name === groupTable) return key;
  return nodeColumn === undefined ? undefined : key.split('\u0000', 1)[0]!;
}

/** Says what groups are. */
export const groupTable = 'nodegroup';
