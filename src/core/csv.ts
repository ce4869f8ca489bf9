/** Undefined is a column that is not set, the empty string one that was cleared. */
type Fields = readonly (string | undefined)[];

export interface CsvRecord {
  /** The line the record begins on, counted from 1. */
  readonly line: number;
  /** As it is written, over several lines where a value has them. */
  readonly text: string;
  readonly fields: Fields;
  /** Where in the text each field begins. */
  readonly starts: readonly number[];
  /** Why the record cannot be used. */
  readonly problem: string | undefined;
  /** Where in the text the quote stands that is never closed, or closed too early. */
  readonly badQuote?: number | undefined;
}

/** A line of a file, without its line feed. */
export interface TextLine {
  readonly text: string;
  readonly isUtf8: boolean;
}

export const csvHeader = (columns: readonly string[]): string => `#${columns.join()}\n`;

const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;

/** A row of a table: every value that is set stands in quotes, as in the dumps of the reference system. */
export const csvLine = (fields: Fields): string =>
  `${fields.map((value) => (value === undefined ? '' : quoted(value))).join()}\n`;

/** The same for spreadsheets, with quotes only where they are needed. */
export const csvPlainLine = (fields: readonly string[]): string =>
  `${fields.map((value) => (/[",\n\r]/.test(value) ? quoted(value) : value)).join()}\n`;

interface Scan {
  /** What was read of the record. */
  text: string;
  fields: (string | undefined)[];
  starts: number[];
  /** What was read of a quoted value that is not closed yet. */
  open: string | undefined;
}

type Outcome = 'complete' | 'open' | { problem: string };

/**
 * The records of a table dump, the header first and without its "#". As dumps are also written by hand, values may stand
 * without quotes, then without the blanks around them; empty lines and later lines that begin with "#" are passed over.
 */
export function* csvRecords(lines: Iterable<TextLine>): Generator<CsvRecord> {
  let scan = begun();
  let number = 0;
  let begin = 0;
  let hasHeader = false;
  let garbled: string | undefined;
  for (const { text, isUtf8 } of lines) {
    number++;
    let rest = text;
    if (scan.open === undefined) {
      if (text.trim() === '' || (hasHeader && text.startsWith('#'))) continue;
      begin = number;
      if (!hasHeader) {
        if (!text.startsWith('#')) {
          yield {
            ...nothing,
            line: number,
            text,
            problem: 'The header is missing: the first line must be "#column,column,...".',
          };
          return;
        }
        rest = text.slice(1);
        hasHeader = true;
      }
    }
    if (!isUtf8)
      garbled = `The ${number === begin ? 'line' : `line ${number}`} is not UTF-8 text; convert the file first.`;
    const outcome = scanLine(scan, rest);
    if (outcome === 'open') continue;
    const problem = garbled ?? (outcome === 'complete' ? undefined : outcome.problem);
    const badQuote = outcome === 'complete' ? undefined : scan.starts.at(-1);
    yield { line: begin, text: scan.text, fields: scan.fields, starts: scan.starts, problem, badQuote };
    scan = begun();
    garbled = undefined;
  }
  if (scan.open !== undefined) {
    const problem = `The quote that opens field ${scan.fields.length + 1} is never closed.`;
    yield { ...nothing, line: begin, text: scan.text, problem, badQuote: scan.starts.at(-1) };
  } else if (!hasHeader) {
    yield { ...nothing, line: 1, text: '', problem: 'The file is empty; its first line must be "#column,column,...".' };
  }
}

const nothing = { fields: [], starts: [] } as const;
const begun = (): Scan => ({ text: '', fields: [], starts: [], open: undefined });

function scanLine(scan: Scan, text: string): Outcome {
  let at = 0;
  const before = scan.open === undefined ? '' : `${scan.text}\n`;
  scan.text = before === '' ? text : before + text;
  for (;;) {
    if (scan.open === undefined) {
      at = skipBlanks(text, at);
      scan.starts.push(before.length + at);
      if (text[at] !== '"') {
        const comma = text.indexOf(',', at);
        const value = text.slice(at, comma < 0 ? text.length : comma).trimEnd();
        scan.fields.push(value === '' ? undefined : value);
        if (comma < 0) return 'complete';
        at = comma + 1;
        continue;
      }
      scan.open = '';
      at++;
    }
    const quote = text.indexOf('"', at);
    if (quote < 0) {
      scan.open += `${text.slice(at)}\n`;
      return 'open';
    }
    if (text[quote + 1] === '"') {
      scan.open += text.slice(at, quote + 1);
      at = quote + 2;
      continue;
    }
    scan.fields.push(scan.open + text.slice(at, quote));
    scan.open = undefined;
    at = skipBlanks(text, quote + 1);
    if (at === text.length || (text[at] === '\r' && at === text.length - 1)) return 'complete';
    if (text[at] !== ',') {
      const where = `Field ${scan.fields.length}`;
      return { problem: `${where} goes on after its closing quote; write a quote inside a value twice.` };
    }
    at++;
  }
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at++;
  return at;
}
