import { Draft } from '../database/draft.ts';
import type { Store } from '../database/store.ts';

const delay = 200;

/** The reference system's form of the time of a status: MM-DD-YYYY hh:mm:ss, local. */
export function statusTime(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${two(date.getMonth() + 1)}-${two(date.getDate())}-${date.getFullYear()}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Notes what nodes are doing in `nodelist.status`, many at a time. */
export class NodeStatus {
  readonly #store: Store;
  readonly #failed: (error: unknown) => void;
  #noted = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, failed: (error: unknown) => void) {
    this.#store = store;
    this.#failed = failed;
  }

  note(node: string, status: string): void {
    if (['n', '0'].includes(this.#store.current.get('site', 'nodestatus')?.['value'] ?? '')) return;
    this.#noted.set(node, status);
    this.#timer ??= setTimeout(() => void this.flush(), delay).unref();
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const noted = this.#noted;
    if (noted.size === 0) return;
    this.#noted = new Map();
    const statustime = statusTime(new Date());
    const origin = { user: '', client: '', command: 'node-status', run: '' };
    try {
      await this.#store.change(origin, (head) => {
        const draft = new Draft(head, (_table, _column, clear) => clear);
        for (const [node, status] of noted)
          if (head.get('nodelist', node)) draft.merge('nodelist', node, { status, statustime });
        return draft.changes();
      });
    } catch (error) {
      this.#failed(error);
    }
  }
}
