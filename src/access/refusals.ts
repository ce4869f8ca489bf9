import type { AuditRecord } from '../database/database.ts';
import { networkOf } from './addresses.ts';

const period = 60_000;
/** Addresses that are told apart at a time; all others share one count. */
const mostFollowed = 256;
const elsewhere = 'other addresses';
const mostNames = 8;
const longestName = 64;

/**
 * Notes requests whose sender could not show who they are, so that a stranger cannot fill the audit log: the first of an address is
 * written at once, what follows within a minute becomes one record with a count. A crash loses that count.
 */
export class Refusals {
  readonly #write: (record: AuditRecord) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #followed = new Map<string, { readonly more: Series; readonly timer: NodeJS.Timeout }>();

  /** `failed` hears of counts that could not be written. */
  constructor(write: (record: AuditRecord) => Promise<void>, failed: (error: unknown) => void) {
    this.#write = write;
    this.#failed = failed;
  }

  /** Resolves when the record is on disk, or counted. */
  async note(record: AuditRecord): Promise<void> {
    const network = networkOf(record.client);
    const isFollowed = this.#followed.has(network) || this.#followed.size < mostFollowed;
    const where = isFollowed ? network : elsewhere;
    const followed = this.#followed.get(where);
    if (followed) return followed.more.add(record);
    const timer = setTimeout(() => void this.#end(where), period).unref();
    this.#followed.set(where, { more: new Series(), timer });
    await this.#write(record);
  }

  /** Writes what is counted so far. */
  async close(): Promise<void> {
    await Promise.all([...this.#followed.keys()].map((where) => this.#end(where)));
  }

  async #end(where: string): Promise<void> {
    const { more, timer } = this.#followed.get(where)!;
    this.#followed.delete(where);
    clearTimeout(timer);
    const record = more.summary(where);
    if (record) await this.#write(record).catch(this.#failed);
  }
}

/** The refusals of one address after the first. */
class Series {
  #count = 0;
  #first: AuditRecord | undefined;
  #last: AuditRecord | undefined;
  #nameless = 0;
  readonly #names = new Set<string>();
  readonly #clients = new Set<string>();
  readonly #commands = new Set<string>();

  add(record: AuditRecord): void {
    this.#count++;
    this.#first ??= record;
    this.#last = record;
    // One more than are told shows that there are more.
    if (record.user === '') this.#nameless++;
    else if (this.#names.size <= mostNames) this.#names.add(record.user.slice(0, longestName));
    if (this.#clients.size <= 1) this.#clients.add(record.client);
    if (this.#commands.size <= 1) this.#commands.add(record.command);
  }

  /** All of them as one record, with nothing in the columns in which they differ; a single one as it is. */
  summary(where: string): AuditRecord | undefined {
    const [first, last] = [this.#first, this.#last];
    if (!first || !last || first === last) return first;
    return {
      time: last.time,
      user: this.#nameless === 0 ? (only(this.#names) ?? '') : '',
      client: only(this.#clients) ?? where,
      command: only(this.#commands) ?? '',
      noderange: '',
      args: this.#summaryText(first, last),
      status: last.status,
      request: last.request,
    };
  }

  #summaryText({ time: from }: AuditRecord, { time: until }: AuditRecord): string {
    const names = [...this.#names].slice(0, mostNames).map((name) => JSON.stringify(name));
    const others = this.#names.size > mostNames ? ' and others' : '';
    return [
      `${this.#count} refusals from ${new Date(from).toISOString()} to ${new Date(until).toISOString()}`,
      ...(names.length === 0 ? [] : [`accounts ${names.join(', ')}${others}`]),
      ...(this.#nameless === 0 ? [] : [`${this.#nameless} without an account`]),
    ].join('; ');
  }
}

const only = (values: ReadonlySet<string>): string | undefined => (values.size === 1 ? [...values][0] : undefined);
