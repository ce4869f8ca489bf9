import type { RunBoard } from '../commands/command.ts';
import type { Logger } from '../core/log.ts';
import type { Servers } from '../database/servers.ts';
import type { Store } from '../database/store.ts';
import { AccountLives } from '../objects/account-lives.ts';
import { AllRuns } from './all-runs.ts';
import { RunFollower } from './run-follower.ts';
import { RunWriter } from './run-writer.ts';
import { keptFor, type RunAudience, Runs } from './runs.ts';
import { StoredRuns } from './stored-runs.ts';

interface Services {
  readonly store: Store;
  readonly servers: Pick<Servers, 'id' | 'name' | 'isAlive'>;
  readonly audience: RunAudience;
  readonly log: Logger;
}

export interface OpenedRuns {
  /** Those of this server. */
  readonly runs: Runs;
  /** Those of all servers. */
  readonly runBoard: RunBoard;
  /** The nodes that runs of a command are about which go on, by the id of the server that does them. */
  nodesUnder(command: string): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Writes what there is to write. */
  close(): Promise<void>;
}

/** Runs: this server's in memory and written to the database, others' read from there. */
export function openRuns({ store, servers, audience, log }: Services): OpenedRuns {
  const { shared } = store.database;
  const keeper = new RunWriter({ shared, servers, revision: () => store.current.revision, log });
  const runs = new Runs({ audience, keeper });
  // An account that was removed just before a run ended counts too.
  const accounts = new AccountLives(store, 2 * keptFor);
  const stored = new StoredRuns({ shared, servers, accounts, log });
  const follower = new RunFollower({ own: runs, stored, shared, servers, audience, log });
  let was = store.current;
  const unsubscribe = store.subscribe((current, sets, skipped) => {
    for (const account of accounts.note(was, current, sets, skipped)) {
      runs.disown(account);
      follower.disown(account);
    }
    was = current;
  });
  const board = new AllRuns({ own: runs, stored, shared, servers, log });
  return {
    runs,
    runBoard: board,
    nodesUnder: (command) => board.nodesUnder(command),
    async close() {
      unsubscribe();
      follower.close();
      await keeper.close();
    },
  };
}
