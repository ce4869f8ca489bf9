/** A table as the server tells it. */
export interface Dump {
  readonly columns: readonly string[];
  /** The columns that tell its rows apart. */
  readonly keys: readonly string[];
  readonly rows: readonly Readonly<Record<string, string>>[];
}

export const csvHeader = (columns: readonly string[]): string => `#${columns.join(',')}`;

export const csvRow = (columns: readonly string[], row: Readonly<Record<string, string>>): string =>
  columns.map((column) => (row[column] ? `"${row[column].replaceAll('"', '""')}"` : '')).join(',');

export const csvText = ({ columns, rows }: Omit<Dump, 'keys'>): string =>
  `${[csvHeader(columns), ...rows.map((row) => csvRow(columns, row))].join('\n')}\n`;

/** What is wrong with a file of a table, as a sentence; `header`: it cannot be used at all. */
export class CsvError extends Error {
  readonly header: boolean;

  constructor(message: string, header = false) {
    super(message);
    this.header = header;
  }
}

/** Rows of a file, each with the text it was made of. */
export interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: readonly { readonly row: Readonly<Record<string, string>>; readonly text: string }[];
}

/** Reads a file in the form of tabdump; columns may stand in any order, and some may be absent. */
export function parseCsv(text: string): CsvTable {
  const [first = '', ...lines] = text.split(/\r?\n/);
  if (!first.startsWith('#'))
    throw new CsvError('The header line is missing or does not begin with "#": #column,column,...', true);
  const columns = first
    .slice(1)
    .split(',')
    .map((name) => name.trim().replace(/^"(.*)"$/, '$1'));
  const lastQuote = lines.findLastIndex((line) => line.includes('"'));
  const rows: { row: Record<string, string>; text: string }[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    let record = lines[at]!;
    if (record.trim() === '' || record.startsWith('#')) continue;
    const began = at + 1;
    let fields = fieldsOf(record);
    while (fields.open !== undefined && at < lastQuote) {
      at += 1;
      record += `\n${lines[at]!}`;
      fields = fieldsOf(record);
    }
    if (fields.open !== undefined)
      throw new CsvError(`CSV unmatched " in record on line ${began}, character ${fields.open}: ${record.trimEnd()}`);
    if (fields.values.length > columns.length) {
      const rest = fields.texts.slice(columns.length).join(',');
      throw new CsvError(`Too many fields on line ${rows.length}: ${record} | ${rest}`);
    }
    const row: Record<string, string> = {};
    for (const [index, value] of fields.values.entries()) if (value !== '') row[columns[index]!] = value;
    rows.push({ row, text: record });
  }
  return { columns, rows };
}

interface Fields {
  readonly values: readonly string[];
  /** As they are written. */
  readonly texts: readonly string[];
  /** Where a quote stands that is never closed. */
  readonly open?: number;
}

const quoted = /\s*"((?:[^"]|"")*)"\s*(?=,|$)/y;
const plain = /[^,]*/y;

function fieldsOf(record: string): Fields {
  const values: string[] = [];
  const texts: string[] = [];
  for (let at = 0; ; ) {
    quoted.lastIndex = at;
    const inQuotes = quoted.exec(record);
    if (!inQuotes && record.slice(at).trimStart().startsWith('"'))
      return { values, texts, open: record.indexOf('"', at) };
    plain.lastIndex = at;
    const found = inQuotes ?? plain.exec(record)!;
    values.push(inQuotes ? inQuotes[1]!.replaceAll('""', '"') : found[0].trim());
    texts.push(found[0].trim());
    at += found[0].length;
    if (record[at] !== ',') return { values, texts };
    at += 1;
  }
}
