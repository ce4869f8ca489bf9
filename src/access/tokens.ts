import { hash, randomBytes } from 'node:crypto';
import { SortedMap } from '../database/sorted-map.ts';
import type { Row } from '../database/tables.ts';

/** UUID form, but all 128 bits are random; a version 4 UUID would fix six of them. */
export function newToken(): string {
  return randomBytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Tokens with limits begin with it. */
const limitedPrefix = 'limited-';

export const newLimitedToken = (): string => `${limitedPrefix}${newToken()}`;
export const isLimitedToken = (id: string): boolean => id.startsWith(limitedPrefix);

/**
 * A plain hash is enough: nobody can go through 128 random bits. That of a token with limits is another one, so that a server of an
 * earlier version, which does not know limits, does not know the token.
 */
export function hashToken(id: string): string {
  return hash('sha256', isLimitedToken(id) ? `limits ${id}` : id, 'hex');
}

/** What a page shows that its requests are its own: made from the token, so pages of other sites do not have it. */
export function csrfTokenOf(id: string): string {
  return hash('sha256', `csrf ${id}`, 'base64url');
}

/** Local time without zero padding, as the specification shows it. */
export function expiryText(date: Date | undefined): string {
  if (date === undefined) return 'never';
  const day = `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
  return `${day} ${date.getHours()}:${date.getMinutes()}:${date.getSeconds()}`;
}

/** The same with the offset of the time zone, as it is stored: other servers of the database may have another zone. */
export function storedTime(date: Date | undefined): string {
  if (date === undefined) return expiryText(date);
  const minutes = -date.getTimezoneOffset();
  const two = (number: number): string => String(Math.floor(number)).padStart(2, '0');
  const offset = `${two(Math.abs(minutes) / 60)}${two(Math.abs(minutes) % 60)}`;
  return `${expiryText(date)} ${minutes < 0 ? '-' : '+'}${offset}`;
}

/**
 * Milliseconds since 1970, Infinity for `never`, NaN for what cannot be read: compare so that NaN counts as expired. Without an offset it is
 * local time, as earlier versions stored it.
 */
export function parseExpiry(text: string): number {
  const trimmed = text.trim();
  if (trimmed.toLowerCase() === 'never') return Number.POSITIVE_INFINITY;
  const match = /^(\d{4})-(\d{1,2})-(\d{1,2}) (\d{1,2}):(\d{1,2}):(\d{1,2})(?: ([+-])(\d{2})(\d{2}))?$/.exec(trimmed);
  if (!match) return Number.NaN;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [sign, hours, minutes] = match.slice(7);
  if (hour > 23 || minute > 59 || second > 59) return Number.NaN;
  // Dates that do not exist roll over to another day; an hour skipped by the clock change is fine.
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day || month < 1 || month > 12) return Number.NaN;
  if (sign === undefined) return new Date(year, month - 1, day, hour, minute, second).getTime();
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return Date.UTC(year, month - 1, day, hour, minute, second) - (sign === '-' ? -offset : offset);
}

/** What is stored, as clients get it. */
export function shownExpiry(text: string): string {
  const time = parseExpiry(text);
  return Number.isFinite(time) ? expiryText(new Date(time)) : text;
}

/** The same time in ISO 8601; what cannot be read as one stays. */
export function isoTime(text: string): string {
  const time = parseExpiry(text);
  return Number.isFinite(time) ? new Date(time).toISOString() : text;
}

/** Beyond this the year would no longer have four digits. */
const longestLifetime = 1_000_000;

/** The lifetime of a token in days, from the site attribute `tokenexpiredays`. */
export const lifetimeDays = (value: string | undefined): number => readLifetime(value ?? '') ?? 1;

/** Undefined if it is neither a number of days nor never. */
export function readLifetime(value: string): number | undefined {
  const text = value.trim().toLowerCase();
  if (text === 'never') return Number.POSITIVE_INFINITY;
  const days = /^\d*\.?\d+$/.test(text) ? Number(text) : 0;
  return days > 0 ? Math.min(days, longestLifetime) : undefined;
}

/** Whose tokens are whose, in the rows that were looked at last: what differs in the next ones is all that has to be looked at then. */
const latest = { rows: SortedMap.empty<Row>(), byAccount: new Map<string, Map<string, Row>>() };

/** The tokens of an account by their ids, among all of the table. */
export function tokensOf(rows: SortedMap<Row>, account: string): ReadonlyMap<string, Row> {
  const { byAccount } = latest;
  for (const id of SortedMap.changedKeys(latest.rows, rows)) {
    const before = latest.rows.get(id);
    if (before) byAccount.get(before['username'] ?? '')?.delete(id);
    const after = rows.get(id);
    if (!after) continue;
    const name = after['username'] ?? '';
    const own = byAccount.get(name);
    if (own) own.set(id, after);
    else byAccount.set(name, new Map([[id, after]]));
  }
  latest.rows = rows;
  return byAccount.get(account) ?? none;
}

const none: ReadonlyMap<string, Row> = new Map();

/** Of one account: three days of a script that takes one every minute. */
export const maximumTokens = 5_000;

/** What is left when there were too many: finding the oldest takes long, so many go at once. */
const roomy = 0.9;

/** The ids of an account's tokens that have to go so that it can have one more: expired ones, then those not used for longest. */
export function tokensToDrop(own: ReadonlyMap<string, Row>, now: number, most = maximumTokens): string[] {
  if (own.size < most) return [];
  const expired: string[] = [];
  const living: { readonly id: string; readonly used: number }[] = [];
  for (const [id, row] of own) {
    if (parseExpiry(row['expire'] ?? '') > now) living.push({ id, used: lastUse(row) });
    else expired.push(id);
  }
  const left = living.length < most ? living.length : Math.floor(most * roomy);
  const dropped = living.sort((a, b) => a.used - b.used).slice(0, living.length - left);
  return [...expired, ...dropped.map(({ id }) => id)];
}

/** What cannot be read is as good as never. */
const lastUse = ({ access, created = '' }: Row): number => parseExpiry(access ?? created) || 0;
