/** One line of the report. */
export interface Row {
  readonly what: string;
  readonly muster: string;
  /** What it is compared with. */
  readonly floor: string;
  readonly ratio: number | undefined;
  /** Undefined: shown for orientation only. */
  readonly bar: Bar | undefined;
}

export interface Bar {
  readonly limit: number;
  readonly isFloor?: boolean;
}

export const atMost = (limit: number): Bar => ({ limit });
export const atLeast = (limit: number): Bar => ({ limit, isFloor: true });

/** A benchmark: what it is called with --only, and its rows as they are measured. */
export interface Benchmark {
  readonly name: string;
  /** Runs only if it is asked for by its name. */
  readonly takesLong?: boolean;
  rows(): AsyncIterable<Row>;
}

const widths = [62, 20, 24, 8, 8];
const line = (cells: readonly string[]): string =>
  cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[i] ?? 0))).join('  ');

export const heading = line(['what', 'muster', 'compared with', 'ratio', 'bar']);

export function isMet({ ratio, bar }: Row): boolean {
  if (bar === undefined || ratio === undefined) return true;
  return bar.isFloor ? ratio >= bar.limit : ratio <= bar.limit;
}

export function formatRow(row: Row): string {
  const { what, muster, floor, ratio, bar } = row;
  const shownBar = bar ? `${bar.isFloor ? '>=' : '<='} ${bar.limit}` : '';
  const verdict = bar ? (isMet(row) ? 'met' : 'NOT MET') : '';
  return line([what, muster, floor, ratio === undefined ? '' : ratio.toFixed(2), shownBar, verdict]);
}

/** A row that compares two figures of the same unit. */
export function compare(what: string, muster: number, floor: number, unit: string, bar?: Bar, floorName = ''): Row {
  const text = (value: number): string => `${figure(value)} ${unit}`;
  return { what, muster: text(muster), floor: `${floorName} ${text(floor)}`.trim(), ratio: muster / floor, bar };
}

/** Three digits that count. */
export const figure = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
