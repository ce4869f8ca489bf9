import { Draft } from '../database/draft.ts';
import type { Store } from '../database/store.ts';

const delay = 200;

/** The reference system's form of the time of a status: MM-DD-YYYY hh:mm:ss, local. */
export function statusTime(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${two(date.getMonth() + 1)}-${two(date.getDate())}-${date.getFullYear()}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

interface Noted {
  readonly status: string;
  readonly applications: string | undefined;
}

/** Notes what nodes are doing in `nodelist.status`, many at a time. */
export class NodeStatus {
  readonly #store: Store;
  readonly #failed: (error: unknown) => void;
  #noted = new Map<string, Noted>();
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  constructor(store: Store, failed: (error: unknown) => void) {
    this.#store = store;
    this.#failed = failed;
  }

  /** `applications` as `appstatus` keeps them. */
  note(node: string, status: string, applications?: string): void {
    if (['n', '0'].includes(this.#store.current.get('site', 'nodestatus')?.['value'] ?? '')) return;
    this.#noted.set(node, { status, applications: applications ?? this.#noted.get(node)?.applications });
    this.#timer ??= setTimeout(() => void this.flush(), delay).unref();
  }

  /** Resolves when all that was noted before is to be seen. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const noted = this.#noted;
    if (noted.size > 0) {
      this.#noted = new Map();
      const before = this.#written;
      const write = this.#write(noted);
      this.#written = before.then(() => write);
    }
    return this.#written;
  }

  async #write(noted: ReadonlyMap<string, Noted>): Promise<void> {
    const now = statusTime(new Date());
    const origin = { user: '', client: '', command: 'node-status', run: '' };
    try {
      await this.#store.change(origin, (head) => {
        const draft = new Draft(head, (_table, _column, clear) => clear);
        for (const [node, { status, applications }] of noted) {
          if (!head.get('nodelist', node)) continue;
          draft.merge('nodelist', node, { status, statustime: now });
          if (applications !== undefined)
            draft.merge('nodelist', node, { appstatus: applications, appstatustime: now });
        }
        return draft.changes();
      });
    } catch (error) {
      this.#failed(error);
    }
  }
}
