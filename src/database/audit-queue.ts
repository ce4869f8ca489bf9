import type { AuditRecord } from './database.ts';

/** The columns of the audit log in the order of a record's text; the request id stands in `comments`. */
export const auditColumns = [
  'audittime',
  'userid',
  'clientname',
  'command',
  'noderange',
  'args',
  'status',
  'comments',
] as const;

/** A record as a JSON array, its time in milliseconds. */
export const auditText = ({ time, user, client, command, noderange, args, status, request }: AuditRecord): string =>
  JSON.stringify([time, user, client, command, noderange, args, status, request]);

/** The time of a record, from its text. */
export const auditTime = (text: string): number => Number(text.slice(1, text.indexOf(',')));

/** Records that become texts together: one by one, between other work, that takes several times as long. */
const batch = 64;

/** Records that wait for the disk. Thousands may, and as one text each they take the least. */
export class AuditQueue {
  #texts: string[] = [];
  readonly #records: AuditRecord[] = [];

  get length(): number {
    return this.#texts.length + this.#records.length;
  }

  add(record: AuditRecord): void {
    if (this.#records.push(record) === batch) this.#makeTexts();
  }

  /** All of them, which no longer wait. */
  take(): string[] {
    this.#makeTexts();
    const texts = this.#texts;
    this.#texts = [];
    return texts;
  }

  /** Those that could not be written wait again, before all others. */
  giveBack(texts: string[]): void {
    this.#texts = texts.concat(this.#texts);
  }

  #makeTexts(): void {
    for (const record of this.#records) this.#texts.push(auditText(record));
    this.#records.length = 0;
  }
}
