import { createHash } from 'node:crypto';
import { Fault } from '../core/errors.ts';
import { tables } from './tables.ts';

/** The names of the rows that say which form a database has: a short text to compare, and what it stands for. */
export const formMarker = 'form';
export const formPartsMarker = 'form-parts';

/** The form of a database: what this program knows, as a short text and part by part, and what was noted when it was opened. */
export interface Form {
  readonly own: string;
  readonly parts: readonly string[];
  readonly found: string | undefined;
}

/** What a program has to know of a database before it works with it: each step of its migrations, and each column. Nothing is ever taken out. */
export const formParts = (steps: readonly string[]): string[] => [
  ...steps.map((step) => `step ${step}`),
  ...[...tables.values()].flatMap(({ name, columns }) => columns.map((column) => `column ${column} of table ${name}`)),
];

export const formOf = (parts: readonly string[]): string =>
  createHash('sha256').update(parts.toSorted().join('\n')).digest('hex').slice(0, 16);

/** Refuses to start with what a newer program has added. */
export function refuseUnknown(stored: readonly string[], known: readonly string[]): void {
  const own = new Set(known);
  const unknown = [...new Set(stored)].filter((part) => !own.has(part));
  if (unknown.length === 0) return;
  const more = unknown.length > 1 ? ` and ${unknown.length - 1} more` : '';
  throw new Error(
    `The database was written by a newer muster (it has the ${unknown[0]}${more}). Start that version, or restore a backup made by this one.`,
  );
}

/** Refuses to go on with a form that another version has made since: what is written would lack what this one does not know. */
export function refuseChanged(stored: string | null, { own, found }: Form): void {
  if (stored === null || stored === own || stored === found) return;
  throw new Fault(
    'unavailable',
    [
      'Another version of muster has changed the form of the database, so this server does not write to it and shows what it knew before.',
      'Install the version of the other servers here, and restart this server; until then use one of the others.',
    ],
    { retryAfter: 30 },
  );
}
