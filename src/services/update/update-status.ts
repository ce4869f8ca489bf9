import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import { statusTime } from '../node-status.ts';

export type UpdateState = 'syncing' | 'synced' | 'failed';

const delay = 200;

/** Notes how far the update of nodes is in `nodelist.updatestatus`, many at a time. */
export class UpdateStatus {
  readonly #store: Store;
  #noted = new Map<string, UpdateState>();
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<unknown> = Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  note(node: string, state: UpdateState): void {
    this.#noted.set(node, state);
    this.#timer ??= setTimeout(() => this.#write(), delay);
  }

  /** Writes what is left. */
  async flush(): Promise<void> {
    this.#write();
    await this.#written;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const noted = this.#noted;
    this.#noted = new Map();
    if (noted.size === 0) return;
    const updatestatustime = statusTime(new Date());
    const change = this.#store.change({ user: '', client: '', command: 'update-status', run: '' }, (head) => {
      const draft = new Draft(head, (_table, _column, clear) => clear);
      for (const [node, updatestatus] of noted) {
        if (head.get('nodelist', node)) draft.merge('nodelist', node, { updatestatus, updatestatustime });
      }
      return draft.changes();
    });
    this.#written = Promise.all([this.#written, change]);
    // Whoever flushes hears of it.
    this.#written.catch(() => undefined);
  }
}
