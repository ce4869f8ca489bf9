import { Fault } from '../core/errors.ts';
import { JsonScan } from './json-scan.ts';

/** A mark of the byte order is not passed over, since it may stand at the beginning of the whole text only. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
export const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

export interface ParsedBody {
  readonly members: Record<string, unknown>;
  /** About how many members and elements it has at any level. */
  readonly values: number;
  /** Some object in it names a member twice. */
  readonly repeats: boolean;
}

/** A short body as a JSON object. An absent one is an empty object. */
export function parseBody(bytes: Buffer): ParsedBody {
  if (bytes.length === 0) return { members: {}, values: 0, repeats: false };
  const values = countValues(bytes);
  const isMarked = bytes[0] === byteOrderMark[0] && bytes.subarray(0, 3).equals(byteOrderMark);
  const members = parseJson(decodeUtf8(isMarked ? bytes.subarray(3) : bytes), '');
  if (members === null || typeof members !== 'object' || Array.isArray(members)) throw noObject();
  return { members: members as Record<string, unknown>, values, repeats: commasIn(members) < values };
}

/** Commas that the value is written with: where the text has more, something was named twice, and only one of both is left. */
export function commasIn(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  const inside: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let commas = Math.max(0, inside.length - 1);
  for (const each of inside) if (typeof each === 'object') commas += commasIn(each);
  return commas;
}

export const repeatedMember = (): Fault =>
  new Fault('malformed', 'The body names a member twice in one object, and only one of them could count.');

function countValues(bytes: Buffer): number {
  const scan = new JsonScan();
  for (let at = -1; (at = scan.next(bytes, at + 1, bytes.length)) >= 0; );
  return scan.commas;
}

/** `where` tells which part of the body it is. */
export function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The engine's message goes on with a piece of the text, which may be a password.
    const [reason = ''] = (error as Error).message.split(/, (?:\.\.\.)?"/, 1);
    throw notJson(where === '' ? reason : `${reason.replace(/ at position \d+.*$/, '')} ${where}`);
  }
}

export function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Fault('malformed', 'The body is not UTF-8 text.');
  }
}

export const notJson = (reason: string): Fault => new Fault('malformed', `The body is not JSON: ${reason}.`);

export const noObject = (): Fault =>
  new Fault('malformed', 'The body must be a JSON object such as {"groups":"all"}.', {
    reference: ['put or post data must be a json object (hash/dict).'],
  });
