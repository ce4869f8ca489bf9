import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeFileAtomically } from '../core/files.ts';
import type { RecordType } from '../protocols/dns/update.ts';

/** A record of a host. Names are in lower case without a dot at their end, addresses in their one spelling. */
export interface DnsRecord {
  readonly name: string;
  readonly type: RecordType;
  readonly data: string;
}

/** Equal for equal records. */
export const recordKey = ({ name, type, data }: DnsRecord): string => `${name} ${type} ${data}`;

export type Records = ReadonlyMap<string, DnsRecord>;

export interface Holding {
  readonly owner: string;
  readonly record: DnsRecord;
}

const none: Records = new Map();
const nobody: readonly Holding[] = [];

export const keyed = (records: Iterable<DnsRecord>): Map<string, DnsRecord> =>
  new Map(Array.from(records, (record) => [recordKey(record), record]));

/**
 * Which records in DNS are ours, and of which node. A record is noted before it is sent and struck out after it is gone, so that
 * after a crash at any moment every record of ours is in the ledger. A line of the file is a node and its records, the last one counts.
 */
export class Ledger {
  readonly #file: string;
  readonly #owners = new Map<string, Records>();
  /** By name: what is an alias of one node cannot be the name of another. */
  readonly #byName = new Map<string, Holding[]>();
  #lines = 0;
  /** The last line was not written to its end, as on a full disk. */
  #isTorn = false;

  constructor(file: string) {
    this.#file = file;
    this.#load();
  }

  of(owner: string): Records {
    return this.#owners.get(owner) ?? none;
  }

  owners(): Iterable<string> {
    return this.#owners.keys();
  }

  /** Who has which records of a name. */
  named(name: string): readonly Holding[] {
    return this.#byName.get(name) ?? nobody;
  }

  /** Notes the records of owners; on disk when it resolves. */
  async set(changes: ReadonlyMap<string, Records>): Promise<void> {
    const news = [...changes].filter(([owner, records]) => !sameKeys(records, this.of(owner)));
    if (news.length === 0) return;
    if (this.#isTorn) this.#rewrite();
    await this.#append(news.map(([owner, records]) => line(owner, records)).join(''));
    for (const [owner, records] of news) this.#put(owner, records);
    this.#lines += news.length;
    if (this.#lines > 1_000 + 3 * this.#owners.size) this.#rewrite();
  }

  async #append(text: string): Promise<void> {
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    const file = await open(this.#file, 'a', 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
    } catch (error) {
      this.#isTorn = true;
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Forgets everything else. */
  replace(owners: ReadonlyMap<string, Records>): void {
    this.#owners.clear();
    this.#byName.clear();
    for (const [owner, records] of owners) this.#put(owner, records);
    this.#rewrite();
  }

  #rewrite(): void {
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    const lines = [...this.#owners].map(([owner, records]) => line(owner, records));
    writeFileAtomically(this.#file, lines.join(''), 0o600);
    this.#lines = lines.length;
    this.#isTorn = false;
  }

  #put(owner: string, records: Records): void {
    const old = this.#owners.get(owner);
    if (old) for (const { name } of old.values()) this.#unlist(owner, name);
    if (records.size === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, records);
    for (const record of records.values()) {
      const holdings = this.#byName.get(record.name);
      if (holdings) holdings.push({ owner, record });
      else this.#byName.set(record.name, [{ owner, record }]);
    }
  }

  #unlist(owner: string, name: string): void {
    const left = this.#byName.get(name)?.filter((holding) => holding.owner !== owner) ?? [];
    if (left.length === 0) this.#byName.delete(name);
    else this.#byName.set(name, left);
  }

  /** A line that a crash has cut off is the last one, and what it would have noted was not sent yet. */
  #load(): void {
    if (!existsSync(this.#file)) return;
    const content = readFileSync(this.#file, 'utf8');
    for (const text of content.split('\n')) {
      if (text === '') continue;
      this.#lines++;
      try {
        const [owner, ...records] = JSON.parse(text) as [string, ...[string, DnsRecord['type'], string][]];
        this.#put(owner, keyed(records.map(([name, type, data]) => ({ name, type, data }))));
      } catch {
        continue;
      }
    }
    if (!content.endsWith('\n')) this.#rewrite();
  }
}

const line = (owner: string, records: Records): string =>
  `${JSON.stringify([owner, ...[...records.values()].map(({ name, type, data }) => [name, type, data])])}\n`;

function sameKeys(a: Records, b: Records): boolean {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) if (!b.has(key)) return false;
  return true;
}
