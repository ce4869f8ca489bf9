import { limiter } from '../core/limiter.ts';
import type { Logger } from '../core/log.ts';
import type { Store } from '../database/store.ts';
import { isEnabled } from '../database/tables.ts';
import type { SiteAccounts } from './site-accounts.ts';

/** Accounts that are asked for at a time. */
const width = 4;

/** Asks the sources again and again for everybody who has logged in: who is gone there, or has other groups. Returns what ends it. */
export function followSources(accounts: SiteAccounts, { store, log }: { store: Store; log: Logger }): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const isDone = (): boolean => isOver;
  const run = async (): Promise<void> => {
    await checkAll(accounts, store, log, isDone).catch((error: unknown) =>
      log.error({ err: error }, 'accounts of the site could not be checked'),
    );
    if (!isOver) timer = setTimeout(() => void run(), accounts.settings.checkEvery * 1_000).unref();
  };
  void run();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

async function checkAll(accounts: SiteAccounts, store: Store, log: Logger, isOver: () => boolean): Promise<void> {
  const take = limiter(width);
  const rows = [...store.current.rows('siteaccount').values()].filter(isEnabled);
  await Promise.all(
    rows.map((row) =>
      take(async () => {
        const name = row['username'] ?? '';
        const source = accounts.sources.find((each) => each.name === row['source']);
        // Another server may have this source in use.
        if (isOver() || !source) return;
        if (accounts.nameOf(store.current, name) === undefined)
          return accounts.end(name, row, 'no source may be asked for this name any more');
        try {
          await accounts.update(source, name, await source.look(name));
        } catch (error) {
          const now = store.current.get('siteaccount', name);
          if (now && isEnabled(now) && accounts.isTooOld(now))
            await accounts.end(name, now, `${source.name} could not be asked for too long`);
          else log.debug({ err: error }, `the account ${name} could not be checked`);
        }
      }),
    ),
  );
}
