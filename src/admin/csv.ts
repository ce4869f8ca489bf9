import type { TextLine } from './text-lines.ts';

/** Undefined is a column that is not set, the empty string one that was cleared. */
type Fields = readonly (string | undefined)[];

export interface CsvRecord {
  /** The line the record begins on, counted from 1. */
  readonly line: number;
  readonly fields: Fields;
  /** Why the record cannot be used. */
  readonly problem: string | undefined;
}

export const csvHeader = (columns: readonly string[]): string => `#${columns.join()}\n`;

export const csvLine = (fields: Fields): string =>
  `${fields.map((value) => (value === undefined ? '' : `"${value.replaceAll('"', '""')}"`)).join()}\n`;

interface Scan {
  fields: (string | undefined)[];
  /** What was read of a quoted value that is not closed yet. */
  open: string | undefined;
}

type Outcome = 'complete' | 'open' | { problem: string };

/**
 * The records of a table dump, the header first and without its "#". As dumps are also written by hand, values may stand
 * without quotes, then without the blanks around them; empty lines and later lines that begin with "#" are passed over.
 */
export function* csvRecords(lines: Iterable<TextLine>): Generator<CsvRecord> {
  let scan: Scan = { fields: [], open: undefined };
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
            line: number,
            fields: [],
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
    yield { line: begin, fields: scan.fields, problem };
    scan = { fields: [], open: undefined };
    garbled = undefined;
  }
  if (scan.open !== undefined) {
    yield { line: begin, fields: [], problem: `The quote that opens field ${scan.fields.length + 1} is never closed.` };
  } else if (!hasHeader) {
    yield { line: 1, fields: [], problem: 'The file is empty; its first line must be "#column,column,...".' };
  }
}

function scanLine(scan: Scan, text: string): Outcome {
  let at = 0;
  for (;;) {
    if (scan.open === undefined) {
      at = skipBlanks(text, at);
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
