import type { UpdateState } from '../core/effects.ts';
import { ownOrigin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Store } from '../database/store.ts';
import type { Row } from '../database/tables.ts';
import { siteValue } from '../objects/effective.ts';

const delay = 200;

/** The last second that was asked for, and its text. */
let known = { second: 0, text: '' };

/** The reference system's form of the time of a status: MM-DD-YYYY hh:mm:ss, local. */
export function statusTime(date: Date): string {
  const second = Math.floor(date.getTime() / 1_000);
  if (second !== known.second) known = { second, text: timeText(date) };
  return known.text;
}

function timeText(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${two(date.getMonth() + 1)}-${two(date.getDate())}-${date.getFullYear()}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Notes what nodes are doing in `nodelist.status` and `nodelist.updatestatus`, many at a time. */
export class NodeStatus {
  readonly #store: Store;
  readonly #failed: (error: unknown) => void;
  /** Columns by node. */
  #noted = new Map<string, Row>();
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  constructor(store: Store, failed: (error: unknown) => void) {
    this.#store = store;
    this.#failed = failed;
  }

  /** Notes what a command has brought about, unless the site wants no such notes. */
  note(node: string, status: string): void {
    if (['n', '0'].includes(siteValue(this.#store.current, 'nodestatus') ?? '')) return;
    this.#note(node, { status, statustime: statusTime(new Date()) });
  }

  /** Keeps what somebody has looked at for this purpose; `applications` as `appstatus` keeps them. */
  keep(node: string, status: string, applications: string): void {
    const time = statusTime(new Date());
    this.#note(node, { status, statustime: time, appstatus: applications, appstatustime: time });
  }

  noteUpdate(node: string, updatestatus: UpdateState): void {
    this.#note(node, updateColumns(updatestatus));
  }

  /** Updates that ended with the service have failed. */
  resume(): Promise<void> {
    return this.failUpdates(this.updating());
  }

  /** Nodes that are being updated, each with the time when that began. */
  updating(): ReadonlyMap<string, string | undefined> {
    const found = new Map<string, string | undefined>();
    for (const [node, { updatestatus, updatestatustime }] of this.#store.current.rows('nodelist').entries())
      if (updatestatus === 'syncing') found.set(node, updatestatustime);
    return found;
  }

  /** Those of the nodes have failed whose update is still the one that began at the time. */
  failUpdates(updating: ReadonlyMap<string, string | undefined>): Promise<void> {
    if (updating.size === 0) return this.#written;
    const failed = updateColumns('failed');
    return this.#change('interrupted-updates', (draft) => {
      for (const [node, time] of updating) {
        const row = draft.base.get('nodelist', node);
        if (row?.['updatestatus'] === 'syncing' && row['updatestatustime'] === time)
          draft.merge('nodelist', node, failed);
      }
    });
  }

  /** Resolves when all that was noted before is to be seen. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const noted = this.#noted;
    if (noted.size === 0) return this.#written;
    this.#noted = new Map();
    return this.#change('node-status', (draft) => {
      for (const [node, columns] of noted) if (draft.base.get('nodelist', node)) draft.merge('nodelist', node, columns);
    });
  }

  #note(node: string, columns: Row): void {
    this.#noted.set(node, { ...this.#noted.get(node), ...columns });
    this.#timer ??= setTimeout(() => void this.flush(), delay).unref();
  }

  #change(command: string, compute: (draft: Draft) => void): Promise<void> {
    const write = this.#store.observe(ownOrigin(command), (head) => {
      const draft = new Draft(head);
      compute(draft);
      return draft.changes();
    });
    const before = this.#written;
    return (this.#written = write.catch(this.#failed).then(() => before));
  }
}

const updateColumns = (updatestatus: UpdateState): Row => ({
  updatestatus,
  updatestatustime: statusTime(new Date()),
});
