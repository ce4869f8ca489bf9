import type { AuditRecord } from '../database/database.ts';
import { networkOf } from './addresses.ts';

const period = 60_000;
/** Addresses that are counted apart at a time; all others share one count. */
const mostFollowed = 256;
const elsewhere = 'other addresses';
/** Refusals of one account in a minute that are all written, and kinds of what follows that are counted apart; all others share one count. */
const mostWritten = 100;
const mostKinds = 100;
const mostNames = 8;
const longestName = 64;

interface Followed {
  readonly more: Series;
  readonly timer: NodeJS.Timeout;
}

/** A minute of one account. */
interface Minute {
  written: number;
  readonly kinds: Map<string, Series>;
  readonly timer: NodeJS.Timeout;
}

/**
 * Notes refused requests so that nobody can fill the audit log with them: of a stranger's address the first, of an account the first hundred
 * of a minute are written at once; what follows becomes records with a count. A crash loses these counts.
 */
export class Refusals {
  readonly #write: (record: AuditRecord) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  /** By address. */
  readonly #strangers = new Map<string, Followed>();
  readonly #accounts = new Map<string, Minute>();

  /** `failed` hears of counts that could not be written. */
  constructor(write: (record: AuditRecord) => Promise<void>, failed: (error: unknown) => void) {
    this.#write = write;
    this.#failed = failed;
  }

  /** Of a sender who could not show who they are. Resolves when the record is on disk, or counted. */
  async note(record: AuditRecord): Promise<void> {
    const network = networkOf(record.client);
    const isFollowed = this.#strangers.has(network) || this.#strangers.size < mostFollowed;
    const where = isFollowed ? network : elsewhere;
    const followed = this.#strangers.get(where);
    if (followed) return followed.more.add(record);
    const timer = setTimeout(() => void this.#end(where), period).unref();
    this.#strangers.set(where, { more: new Series(), timer });
    await this.#write(record);
  }

  /** The same of an account that may not have what it asks for. */
  async noteKnown(record: AuditRecord): Promise<void> {
    const { user, client, command, noderange, args, status } = record;
    let minute = this.#accounts.get(user);
    if (!minute) {
      const timer = setTimeout(() => void this.#endMinute(user), period).unref();
      this.#accounts.set(user, (minute = { written: 0, kinds: new Map(), timer }));
    }
    if (minute.written++ < mostWritten) return this.#write(record);
    const { kinds } = minute;
    const same = JSON.stringify([client, command, noderange, args, status]);
    const kind = kinds.has(same) || kinds.size < mostKinds ? same : '';
    const more = kinds.get(kind);
    if (more) return more.add(record);
    kinds.set(kind, new Series());
    await this.#write(record);
  }

  /** Writes what is counted so far. */
  async close(): Promise<void> {
    await Promise.all([
      ...[...this.#strangers.keys()].map((where) => this.#end(where)),
      ...[...this.#accounts.keys()].map((user) => this.#endMinute(user)),
    ]);
  }

  async #end(where: string): Promise<void> {
    const { more, timer } = this.#strangers.get(where)!;
    this.#strangers.delete(where);
    clearTimeout(timer);
    await this.#record(more, where);
  }

  async #endMinute(user: string): Promise<void> {
    const { kinds, timer } = this.#accounts.get(user)!;
    this.#accounts.delete(user);
    clearTimeout(timer);
    await Promise.all([...kinds.values()].map((more) => this.#record(more, '')));
  }

  async #record(more: Series, where: string): Promise<void> {
    const record = more.summary(where);
    if (record) await this.#write(record).catch(this.#failed);
  }
}

/** Refusals of one kind after the first. */
class Series {
  #count = 0;
  #first: AuditRecord | undefined;
  #last: AuditRecord | undefined;
  #nameless = 0;
  readonly #names = new Set<string>();
  readonly #clients = new Set<string>();
  readonly #commands = new Set<string>();
  readonly #ranges = new Set<string>();
  readonly #arguments = new Set<string>();

  add(record: AuditRecord): void {
    this.#count++;
    this.#first ??= record;
    this.#last = record;
    // One more than are named shows that there are more.
    if (record.user === '') this.#nameless++;
    else if (this.#names.size <= mostNames) this.#names.add(record.user.slice(0, longestName));
    if (this.#clients.size <= 1) this.#clients.add(record.client);
    if (this.#commands.size <= 1) this.#commands.add(record.command);
    if (this.#ranges.size <= 1) this.#ranges.add(record.noderange);
    if (this.#arguments.size <= 1) this.#arguments.add(record.args);
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
      noderange: only(this.#ranges) ?? '',
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
      ...(only(this.#arguments) ? [`each with the arguments ${only(this.#arguments)}`] : []),
    ].join('; ');
  }
}

const only = (values: ReadonlySet<string>): string | undefined => (values.size === 1 ? [...values][0] : undefined);
