import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { SharedRecords } from '../database/shared-records.ts';
import { Logins } from './logins.ts';

const kind = 'failed-login';
/** Longer names are of no account. */
const longestName = 256;

/** Logins whose failures count at every server of the database; `holder` is this one. */
export function sharedLogins(shared: SharedRecords, holder: string, log: Logger, hasElsewhere = false): Logins {
  if (shared.isAlone) return new Logins({ hasElsewhere });
  const failed = (name: string, where: string): void => {
    shared
      .announce({ kind, name: JSON.stringify([name.slice(0, longestName), where]), holder })
      .catch((error: unknown) => log.debug({ err: error }, 'a failed login could not be announced'));
  };
  const logins = new Logins({ failed, hasElsewhere });
  shared.hear((heard) => {
    if (heard.kind !== kind || heard.holder === holder) return;
    try {
      const [name, where] = JSON.parse(heard.name) as [string, string];
      logins.countElsewhere(name, where);
    } catch (error) {
      // No room for another pair of account and network: then this server refuses their guesses anyway.
      if (!(error instanceof Fault)) log.warn({ err: error }, 'what another server sent was not understood');
    }
  });
  return logins;
}
