import { isIPv4 } from 'node:net';
import { isPriority } from '../access/policy.ts';
import { type CsvRecord, csvRecords } from '../core/csv.ts';
import { Fault } from '../core/errors.ts';
import { dotted } from '../core/ip.ts';
import { isNodeName } from '../core/object-names.ts';
import { type Draft, redacted } from '../database/draft.ts';
import { withOpenedSecrets } from '../objects/table-dump.ts';
import type { SecretBox } from '../access/secrets.ts';
import { secretColumns } from '../database/secret-columns.ts';
import { keyOf, type Row, type Table } from '../database/tables.ts';
import { accountKey, hashedForAccounts } from '../objects/accounts.ts';
import { checkGroupName, checkObjectName } from '../objects/names.ts';
import { nodeType } from '../objects/types.ts';
import { textLines } from './text-lines.ts';

// eslint-disable-next-line no-control-regex -- finding control characters is the point
const control = /[\u0000-\u001f\u007f]+/g;
const masked = new Set(['networks', 'routes']);

/** Mends values that the reference system takes and we refuse, in place; yields what it did. */
function* cleanRow(table: Table, row: Record<string, string>): Iterable<string> {
  for (const column in row) {
    const cleaned = row[column]!.replaceAll(control, ' ').trim();
    // Blanks alone are nobody's business.
    if (cleaned === row[column]!.trim()) continue;
    row[column] = cleaned;
    yield `control characters in ${column} became blanks.`;
  }
  const { mask, net = '' } = row;
  if (!masked.has(table.name) || mask === undefined || !/^\d{1,3}$/.test(mask)) return;
  const bits = Number(mask);
  const mended =
    isIPv4(net) && bits <= 32
      ? dotted(bits === 0 ? 0 : (0xff_ff_ff_ff << (32 - bits)) >>> 0)
      : bits <= 128
        ? `/${mask}`
        : mask;
  if (mended === mask) return;
  row['mask'] = mended;
  yield `the mask "${mask}" became "${mended}".`;
}

const maximumFaults = 50;
const nothingDone = 'Nothing was imported.';

/** Collects what is wrong in the files of an import, so that one run shows it all; gives up when it is too much. */
export class ImportFaults {
  readonly #sentences: string[] = [];

  add(where: string, sentence: string): void {
    this.#sentences.push(`${where}: ${sentence}`);
    if (this.#sentences.length < maximumFaults) return;
    throw this.#fault(`Checking ended after ${maximumFaults} faults; there may be more. ${nothingDone}`);
  }

  throwIfAny(): void {
    if (this.#sentences.length > 0) throw this.#fault(nothingDone);
  }

  #fault(end: string): Fault {
    return new Fault('invalid', [...this.#sentences, end]);
  }
}

type MutableRow = Record<string, string>;

export interface TableFile {
  readonly table: Table;
  readonly name: string;
  readonly path: string;
}

export interface ImportedTable {
  /** The storage keys of the rows read, with their lines. */
  readonly keys: Map<string, number>;
  readonly unknownColumns: string[];
  /** How many secrets the file hides and the database does not have. */
  lostSecrets: number;
  /** How many tokens are not stored as this system stores them. */
  foreignTokens: number;
}

interface ImportWays {
  /** Reads secrets that were sealed in a dump. */
  readonly box: SecretBox;
  readonly skipUnknown: boolean;
  /** Gets what was mended. Absent: nothing is. */
  readonly cleaned?: string[];
  /** Gets the rows that are not valid. Absent: they are faults. */
  readonly skipped?: string[];
}

/** Puts the rows of one file into the draft; what is wrong with them goes to `faults`. */
export async function importTable(
  draft: Draft,
  { table, name, path }: TableFile,
  faults: ImportFaults,
  { box, skipUnknown, cleaned, skipped }: ImportWays,
): Promise<ImportedTable> {
  const imported: ImportedTable = { keys: new Map(), unknownColumns: [], lostSecrets: 0, foreignTokens: 0 };
  let columns: readonly Column[] | undefined;
  for (const record of csvRecords(textLines(path))) {
    const where = `${name}:${record.line}`;
    if (!columns) {
      const header = readHeader(table, record);
      for (const problem of header.problems) faults.add(where, problem);
      if (!skipUnknown) {
        for (const column of header.unknown) faults.add(where, `Table "${table.name}" has no column "${column}".`);
      }
      imported.unknownColumns.push(...header.unknown);
      // The rows below a header that cannot be used would only repeat its fault.
      if (header.problems.length > 0) break;
      columns = header.columns;
      continue;
    }
    try {
      const row = withOpenedSecrets(box, table, makeRow(columns, record)) as MutableRow;
      if (cleaned) for (const sentence of cleanRow(table, row)) cleaned.push(`${where}: ${sentence}`);
      if (table.name === 'passwd') await hashAccount(row);
      importRow(draft, table, row, record.line, imported);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (skipped) skipped.push(`${where}: the row was left out. ${error.message}`);
      else faults.add(where, error.message);
    }
  }
  return imported;
}

function makeRow(columns: readonly Column[], { fields, problem }: CsvRecord): MutableRow {
  if (problem !== undefined) throw new Fault('invalid', problem);
  if (fields.length > columns.length) {
    throw new Fault('invalid', `The row has ${fields.length} fields, but the header names ${columns.length} columns.`);
  }
  const row: MutableRow = {};
  for (let i = 0; i < fields.length; i++) {
    const value = fields[i];
    const column = columns[i]!;
    // Keys are never stored empty.
    if (value === undefined || !column.known || (value === '' && column.isKey)) continue;
    row[column.name] = value;
  }
  return row;
}

async function hashAccount(row: MutableRow): Promise<void> {
  const { key, password } = row;
  if (key === accountKey && password !== undefined) row['password'] = await hashedForAccounts(password);
}

/** The row takes the place of a stored one as a whole; only the secrets it hides stay. */
function importRow(draft: Draft, table: Table, row: MutableRow, line: number, imported: ImportedTable): void {
  if (table.name === 'token' && !isTokenHash(row['tokenid'])) {
    imported.foreignTokens++;
    return;
  }
  checkRow(table, row);
  const key = keyOf(table, row);
  const earlier = imported.keys.get(key);
  if (earlier !== undefined) throw new Fault('invalid', `The row has the same key as the one on line ${earlier}.`);
  imported.keys.set(key, line);
  const stored = draft.base.get(table.name, key);
  for (const column of secretColumns(table, row))
    if (row[column] === redacted && !stored?.[column]) imported.lostSecrets++;
  draft.merge(table.name, key, stored ? { ...allUnset(table), ...row } : row);
}

const allUnset = (table: Table): Record<string, undefined> =>
  Object.fromEntries(table.columns.map((column) => [column, undefined]));

/** What stands in one field of every row. */
interface Column {
  readonly name: string;
  readonly known: boolean;
  readonly isKey: boolean;
}

interface Header {
  readonly columns: readonly Column[];
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
}

function readHeader(table: Table, { fields, problem }: CsvRecord): Header {
  if (problem !== undefined) return { columns: [], unknown: [], problems: [problem] };
  const names = fields.map((name) => name ?? '');
  const problems: string[] = [];
  for (const name of new Set(names.filter((each, i) => names.indexOf(each) !== i))) {
    problems.push(`The header names the column "${name}" twice.`);
  }
  for (const key of table.keys) {
    // Only the user name may be absent, and in tables of nodes all but the node.
    const needed = table.nodeColumn === undefined ? key !== 'username' : key === table.nodeColumn;
    if (needed && !names.includes(key)) {
      problems.push(`The header lacks the column "${key}", which is a key of table "${table.name}".`);
    }
  }
  const columns = names.map((name) => ({
    name,
    known: table.columns.includes(name),
    isKey: table.keys.includes(name),
  }));
  return { columns, unknown: names.filter((name) => !table.columns.includes(name)), problems };
}

/** What a row must be beyond the values of its columns, which the draft checks. */
function checkRow(table: Table, row: Row): void {
  const column = table.keys[0]!;
  const name = row[column];
  if (name === undefined) throw new Fault('invalid', `The row has no value for its key "${column}".`);
  if (table.name === 'nodelist') checkObjectName(nodeType, name);
  // Rows of other node tables belong to a node or to a group.
  else if (column === 'node' && !isNodeName(name)) checkGroupName(name);
  else if (table.name === 'policy' && !isPriority(name)) {
    throw new Fault('invalid', `"${name}" is not a priority: give a number such as 4 or 4.2.`);
  }
}

/** Tokens are stored as SHA-256 sums; anything else, such as another system's tokens, lets nobody in. */
const isTokenHash = (text: string | undefined): boolean => text !== undefined && /^[0-9a-f]{64}$/.test(text);
