import { tables } from '../../../src/database/tables.ts';
import type { TestServer } from '../../harness/server.ts';
import type { Row, RowChanges } from './cases.ts';

export type Contents = Readonly<Record<string, readonly Row[]>>;

const watched = [...tables.values()].filter(({ log, name }) => !log && name !== 'token');
const dump = `/tables/${watched.map(({ name }) => name).join(',')}/dump`;

const contentsOf = (dumps: Readonly<Record<string, { readonly rows: readonly Row[] }>>): Contents =>
  Object.fromEntries(Object.entries(dumps).map(([name, { rows }]) => [name, rows]));

/** All rows that a command may change. They are read when they have changed, and brought back in one request. */
export class Database {
  readonly #server: TestServer;
  #seen: { readonly tag: string; readonly contents: Contents } | undefined;
  #recorded: Contents = {};
  /** The same with secrets, of the tables that have some. */
  #withSecrets: Contents = {};
  /** What was seen when the rows were last as recorded. */
  #asRecorded: Contents = {};

  constructor(server: TestServer) {
    this.#server = server;
  }

  /** What the rows were when they had been brought back. */
  get asRecorded(): Contents {
    return this.#asRecorded;
  }

  /** All rows as they are stored; the same object as before if nothing was written since. */
  async contents(): Promise<Contents> {
    const headers: Record<string, string> = this.#seen ? { 'If-None-Match': this.#seen.tag } : {};
    const reply = await this.#server.call('GET', dump, { headers });
    if (reply.status === 304) return this.#seen!.contents;
    if (reply.status !== 200) throw new Error(`The tables could not be read: ${reply.text}`);
    const contents = contentsOf(reply.json);
    this.#seen = { tag: reply.headers.etag!, contents };
    return contents;
  }

  /** What the tables hold now is what they are brought back to. */
  async remember(): Promise<void> {
    this.#recorded = await this.contents();
    this.#asRecorded = this.#recorded;
    const clear = contentsOf(await this.#server.ok('GET', `${dump}?secrets=clear`));
    const secret = Object.keys(differences(this.#recorded, clear));
    this.#withSecrets = Object.fromEntries(secret.map((name) => [name, clear[name]!]));
  }

  async restore(): Promise<void> {
    const now = await this.contents();
    if (now === this.#asRecorded) return;
    const changes = differences(this.#recorded, now);
    const starts = Object.entries(changes).flatMap(([name, changed]) => this.#startOf(name, changed));
    if (starts.length > 0) await this.#put(Object.fromEntries(starts));
    const changed = Object.keys(changes).map((name) => [name, this.#recorded[name]!]);
    // A secret that was changed looks as before.
    await this.#put({ ...Object.fromEntries(changed), ...this.#withSecrets });
    this.#asRecorded = await this.contents();
  }

  /** New rows come last: what stood behind a row that is gone has to go before it is put again. */
  #startOf(name: string, { removed = [], added = [] }: RowChanges): [name: string, rows: readonly Row[]][] {
    if (!isPlain(name)) return [];
    const rows = this.#recorded[name]!;
    const changed = new Set(added.map((row) => identity(name, row)));
    const gone = rows.findIndex((row) => removed.includes(row) && !changed.has(identity(name, row)));
    return gone < 0 || gone === rows.length - 1 ? [] : [[name, (this.#withSecrets[name] ?? rows).slice(0, gone)]];
  }

  async #put(contents: Contents): Promise<void> {
    await this.#server.ok('PUT', `/tables/${Object.keys(contents).join(',')}/dump`, contents);
  }
}

const textOf = (row: Row): string => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));

export function differences(before: Contents, after: Contents): Record<string, RowChanges> {
  if (before === after) return {};
  const changed: Record<string, RowChanges> = {};
  for (const { name } of watched) {
    const [old = [], now = []] = [before[name], after[name]];
    const [oldTexts, nowTexts] = [new Set(old.map(textOf)), new Set(now.map(textOf))];
    const removed = old.filter((row) => !nowTexts.has(textOf(row)));
    const added = now.filter((row) => !oldTexts.has(textOf(row)));
    if (removed.length > 0 || added.length > 0) changed[name] = { removed, added };
  }
  return changed;
}

const identity = (table: string, row: Row): string =>
  JSON.stringify(tables.get(table)!.keys.map((key) => row[key] ?? ''));

/** Not what nodes, rights or the site itself live by. */
const isPlain = (name: string): boolean => !['passwd', 'policy', 'nodelist', 'site'].includes(name);
