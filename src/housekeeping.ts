import { parseExpiry } from './access/tokens.ts';
import type { Context } from './context.ts';
import { keepBuild } from './core/home.ts';
import { ownOrigin } from './database/changeset.ts';
import { Draft } from './database/draft.ts';
import type { Snapshot } from './database/snapshot.ts';
import { watchInterruptedUpdates } from './dispatch/interrupted-updates.ts';

const hour = 3_600_000;
const day = 24 * hour;
/** When those who waited for the start have been served. */
const soon = 5_000;

/** Days that records are kept, by site attribute and its default. */
const retention = { journalretention: 365, auditretention: 90, eventretention: 365 } as const;

function keptSince(snapshot: Snapshot, attribute: keyof typeof retention): number {
  const days = Number(snapshot.get('site', attribute)?.['value']);
  return Date.now() - (days > 0 ? days : retention[attribute]) * day;
}

/** Forgets what is past its time in the database: old records, expired tokens. */
export async function forgetOldRecords({ store }: Pick<Context, 'store'>): Promise<void> {
  const { current } = store;
  await store.database.prune({
    journalBefore: keptSince(current, 'journalretention'),
    auditBefore: keptSince(current, 'auditretention'),
    eventsBefore: keptSince(current, 'eventretention'),
  });
  await store.change(ownOrigin('housekeeping'), (head) => {
    const draft = new Draft(head);
    for (const [id, row] of head.rows('token').entries()) {
      if (!(parseExpiry(row['expire'] ?? '') > Date.now() - day)) draft.remove('token', id);
    }
    return draft.changes();
  });
}

/** Begins what has to be done every hour: by each server for itself, and by one of them in the database. Returns what ends it. */
export function startHousekeeping(context: Context): () => void {
  const { servers, runs, store } = context;
  servers.leases.keep('housekeeping', () => {
    const ends = [everyHour(context, () => forgetOldRecords(context))];
    // Alone, this server has found at its start what it had left.
    if (!store.database.shared.isAlone) ends.push(watchInterruptedUpdates(context));
    return () => ends.forEach((end) => end());
  });
  return everyHour(context, async () => {
    keepBuild();
    runs.expire();
  });
}

/** Soon, since a server may be restarted more often than every hour, and every hour from then on. */
function everyHour({ log }: Pick<Context, 'log'>, work: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout;
  const runIn = (milliseconds: number): void => {
    timer = setTimeout(() => {
      work().catch((error: unknown) => log.error({ err: error }, 'housekeeping failed'));
      runIn(hour);
    }, milliseconds).unref();
  };
  runIn(soon);
  return () => clearTimeout(timer);
}
