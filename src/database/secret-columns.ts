import { createHash } from 'node:crypto';
import { secretWords } from '../core/secret-words.ts';
import { keyColumns, type Row, type Table, tables } from './tables.ts';

/** What stands for a secret wherever a request is shown or kept. */
export const hidden = 'xxxxxxxx';

const columns = [...tables.values()].flatMap((table) =>
  table.columns.map((name) => ({ name, secret: table.secret.has(name) })),
);
/** Columns that are secret in every table that has them. */
const alwaysSecret = new Set(columns.filter(({ secret }) => secret).map(({ name }) => name));
for (const { name, secret } of columns) if (!secret) alwaysSecret.delete(name);

const namedRows = [...tables.values()].flatMap(({ namesSecrets }) => namesSecrets ?? []);
const knownSecret = new Set(namedRows.flatMap(({ always }) => always));
const knownOpen = new Set(namedRows.flatMap(({ never }) => never));

/** Changes with all that decides which names are those of secrets. */
export const secretNamesDigest = createHash('sha256')
  .update(JSON.stringify([secretWords.source, [...alwaysSecret], [...knownSecret], [...knownOpen]]))
  .digest('hex');

/** Whether a name that the tables do not know is one that people give to a secret. */
export function isCalledSecret(name: string): boolean {
  if (knownOpen.has(name)) return false;
  if (knownSecret.has(name)) return true;
  return name
    .trim()
    .split('.')
    .some((part) => alwaysSecret.has(part.toLowerCase()) || secretWords.test(part));
}

/** The columns of a row whose values are secrets: those of the table and, where rows have names that people choose, those that its name makes so. */
export function secretColumns(
  { secret, namesSecrets }: Table,
  row: Readonly<Record<string, unknown>>,
): ReadonlySet<string> {
  if (!namesSecrets) return secret;
  const name = row[namesSecrets.name];
  return typeof name === 'string' && isCalledSecret(name) ? namesSecrets.values : secret;
}

/** The same of a row whose storage key is known. */
export const secretColumnsOf = (table: Table, key: string): ReadonlySet<string> =>
  table.namesSecrets ? secretColumns(table, keyColumns(table, key)) : table.secret;

/** The row with its secrets replaced. */
export function replacingSecrets(table: Table, row: Row, replace: (column: string, value: string) => string): Row {
  const secret = secretColumns(table, row);
  if (secret.size === 0) return row;
  const shown: Record<string, string> = { ...row };
  for (const column of secret) if (shown[column]) shown[column] = replace(column, shown[column]);
  return shown;
}
