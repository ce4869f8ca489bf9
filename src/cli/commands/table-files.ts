import { csvHeader, csvLine, csvRecords } from '../../core/csv.ts';

type Row = Readonly<Record<string, string>>;

/** A table as the server sends it. */
export interface Dump {
  readonly columns: readonly string[];
  /** The columns that tell its rows apart. */
  readonly keys: readonly string[];
  readonly rows: readonly Row[];
}

const fieldsOf = (columns: readonly string[], row: Row): (string | undefined)[] =>
  columns.map((column) => row[column] || undefined);

/** The header and the rows as lines, in the form of tabdump. */
export const tableLines = ({ columns, rows }: Omit<Dump, 'keys'>): string[] => [
  csvHeader(columns).trimEnd(),
  ...rows.map((row) => csvLine(fieldsOf(columns, row)).slice(0, -1)),
];

export const tableText = (table: Omit<Dump, 'keys'>): string => `${tableLines(table).join('\n')}\n`;

/** What is wrong with a file of a table, as a sentence; `header`: it cannot be used at all. */
export class TableFileError extends Error {
  readonly header: boolean;

  constructor(message: string, header = false) {
    super(message);
    this.header = header;
  }
}

/** Rows of a file, each with the text it was made of. */
export interface TableFile {
  readonly columns: readonly string[];
  readonly rows: readonly { readonly row: Row; readonly text: string }[];
}

/** Reads a file in the form of tabdump; columns may stand in any order, and some may be absent. */
export function readTable(content: string): TableFile {
  if (!content.startsWith('#'))
    throw new TableFileError('The header line is missing or does not begin with "#": #column,column,...', true);
  const lines = content.split(/\r?\n/).map((text) => ({ text, isUtf8: true }));
  let columns: string[] | undefined;
  const rows: { row: Record<string, string>; text: string }[] = [];
  for (const { line, text, fields, starts, problem, badQuote } of csvRecords(lines)) {
    // Lines are counted from the header on, as scripts know it.
    if (problem !== undefined)
      throw new TableFileError(
        `CSV unmatched " in record on line ${line - 1}, character ${badQuote ?? 0}: ${text.trimEnd()}`,
      );
    if (!columns) {
      columns = fields.map((name) => name ?? '');
      const twice = columns.find((name, at) => columns!.indexOf(name) !== at);
      if (twice !== undefined) throw new TableFileError(`The header names the column "${twice}" twice.`, true);
    } else {
      if (fields.length > columns.length)
        throw new TableFileError(
          `Too many fields on line ${rows.length}: ${text} | ${text.slice(starts[columns.length]).trimEnd()}`,
        );
      const row: Record<string, string> = {};
      for (const [index, value] of fields.entries()) if (value) row[columns[index]!] = value;
      rows.push({ row, text });
    }
  }
  return { columns: columns ?? [], rows };
}
