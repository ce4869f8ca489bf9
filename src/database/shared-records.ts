import { sharedTable } from './own-tables.ts';

/** Something that all servers of a database know, for a time: who keeps what, which servers there are, how runs are getting on. */
export interface SharedRecord {
  readonly kind: string;
  readonly name: string;
  /** The server that it belongs to. */
  readonly holder: string;
  readonly body: string;
  /** Who or what it is about, for those who list only what is about that. */
  readonly about?: string | undefined;
}

/** Where a record stands among those of its kind. */
export interface RecordPlace {
  readonly made: number;
  readonly name: string;
}

export type ListedRecord = Omit<SharedRecord, 'about'> & RecordPlace;

export interface SharedQuery {
  readonly kind: string;
  readonly holder?: string | undefined;
  /** All but this holder's. */
  readonly besides?: string | undefined;
  readonly about?: string | undefined;
  /** Texts that the body has, each of them. */
  readonly texts?: readonly string[] | undefined;
  /** Only those that come after this one, which are older. */
  readonly after?: RecordPlace | undefined;
  readonly limit: number;
}

/** A word from one server to the others. */
export interface Announcement {
  readonly kind: string;
  readonly name: string;
  readonly holder: string;
}

/**
 * Records by kind and name, each until its time is over by the clock of the database. They are outside the sequence of change sets: no
 * history, and the last writer wins.
 */
export interface SharedRecords {
  /** No other server can be on the same database. */
  readonly isAlone: boolean;
  /** Takes something, or keeps what the holder has, for so many milliseconds. False: another holder has it. */
  claim(record: SharedRecord, milliseconds: number): Promise<boolean>;
  /** Claims many names of one kind for one holder, or keeps those that it has. Answers with the records that others have. */
  claimAll(records: readonly SharedRecord[], milliseconds: number): Promise<SharedRecord[]>;
  /** Ends claims on names of a kind, those that are the holder's. */
  releaseAll(kind: string, names: readonly string[], holder: string): Promise<void>;
  /**
   * Shortens what of these kinds has more than twice that time left. Nobody claims for longer: the clock of the database was set back since,
   * and whoever is still there claims again before the rest of the time is over.
   */
  shorten(kinds: readonly string[], milliseconds: number): Promise<void>;
  /** Ends a claim, if it is the holder's. */
  release(record: Pick<SharedRecord, 'kind' | 'name' | 'holder'>): Promise<void>;
  /** Writes records, whoever held them; all or none of them. Each has a kind and name of its own. */
  put(records: readonly SharedRecord[], milliseconds: number): Promise<void>;
  get(kind: string, name: string): Promise<SharedRecord | undefined>;
  /** The latest first, by when they were made. */
  list(query: SharedQuery): Promise<ListedRecord[]>;
  remove(kind: string, names: readonly string[]): Promise<void>;
  /** Calls the other servers. One that cannot be reached at the moment never hears it. */
  announce(announcement: Announcement): Promise<void>;
  /** Calls back with what servers announce, this one perhaps among them; returns what ends that. */
  hear(heard: (announcement: Announcement) => void): () => void;
  /** The time by the clock of the database, in milliseconds. */
  clock(): Promise<number>;
}

/** What one kind of database says in another way than the others. */
export interface SharedDialect {
  /** The time there in milliseconds, as an expression. */
  readonly now: string;
  /** The function that finds one text in another. */
  readonly position: string;
}

export type Value = string | number;

export const sharedColumns = 'kind, name, holder, body, about, made, until';
export const replaced =
  'on conflict (kind, name) do update set holder = excluded.holder, body = excluded.body, about = excluded.about, until = excluded.until';
/** What belongs to nobody else any more becomes the holder's. */
export const claimed = (now: string): string => `on conflict (kind, name) do update set
      made = case when ${sharedTable}.holder = excluded.holder then ${sharedTable}.made else excluded.made end,
      holder = excluded.holder, body = excluded.body, until = excluded.until
    where ${sharedTable}.holder = excluded.holder or ${sharedTable}.until <= ${now}`;

/** The statements of both kinds of database. */
export const sharedStatements = ({ now }: SharedDialect) => ({
  claim: `insert into ${sharedTable} (${sharedColumns}) values ($1, $2, $3, $4, null, ${now}, ${now} + $5) ${claimed(now)}`,
  shorten: `update ${sharedTable} set until = ${now} + $2 where kind = $1 and until > ${now} + $2 + $2`,
  release: `delete from ${sharedTable} where kind = $1 and name = $2 and holder = $3`,
  put: `insert into ${sharedTable} (${sharedColumns}) values ($1, $2, $3, $4, $5, ${now}, ${now} + $6)
    ${replaced}`,
  get: `select kind, name, holder, body from ${sharedTable} where kind = $1 and name = $2 and until > ${now}`,
  remove: `delete from ${sharedTable} where kind = $1 and name = $2`,
  prune: `delete from ${sharedTable} where until <= ${now}`,
});

export type SharedStatements = ReturnType<typeof sharedStatements>;

/** The statement that answers the question, and its values. */
export function listing({ now, position }: SharedDialect, query: SharedQuery) {
  const { kind, holder, besides, about, texts = [], after, limit } = query;
  const values: Value[] = [];
  const place = (value: Value): string => `$${values.push(value)}`;
  const conditions = [`kind = ${place(kind)}`, `until > ${now}`];
  if (holder !== undefined) conditions.push(`holder = ${place(holder)}`);
  if (besides !== undefined) conditions.push(`holder <> ${place(besides)}`);
  if (about !== undefined) conditions.push(`about = ${place(about)}`);
  if (after) conditions.push(`(made, name) < (${place(after.made)}, ${place(after.name)})`);
  for (const text of texts) conditions.push(`${position}(body, ${place(text)}) > 0`);
  const text = `select kind, name, holder, body, made from ${sharedTable}
    where ${conditions.join(' and ')} order by made desc, name desc limit ${place(limit)}`;
  return { text, values };
}
