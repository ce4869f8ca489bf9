import { Fault } from '../core/errors.ts';
import { beyondJournal } from '../database/past.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';

/** What a moment may be, for descriptions. */
export const momentForms = 'a revision, such as 1234, or a time with its zone, such as 2026-11-15T09:05:00Z';

/** A time, in milliseconds. The plus of a zone is a blank in a query that was not encoded. */
function timeOf(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|z|[+ -]\d\d:?\d\d)$/.exec(text);
  if (!match) return undefined;
  const zone = match[2]!.replace(' ', '+').toUpperCase();
  const time = Date.parse(
    match[1]!.toUpperCase() + (zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone),
  );
  return Number.isNaN(time) ? undefined : time;
}

/** The revision that was the latest at a moment: itself, or that of a time. */
export async function revisionOf(store: Store, current: Snapshot, name: string, text: string): Promise<number> {
  if (/^\d{1,15}$/.test(text)) {
    const revision = Number(text);
    if (revision <= current.revision) return revision;
    throw new Fault(
      'unknown-object',
      `${name}: there is no revision ${revision} yet; the newest is ${current.revision}.`,
    );
  }
  const time = timeOf(text);
  if (time === undefined)
    throw new Fault('malformed', `${name}: give ${momentForms}; times without a zone are not understood.`);
  if (time >= Date.now()) return current.revision;
  const found = await store.database.revisionAt(time);
  if (found === undefined) throw beyondJournal(new Date(time).toISOString(), await store.database.oldestEntry());
  return Math.min(found, current.revision);
}
