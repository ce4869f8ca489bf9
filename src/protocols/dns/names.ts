import { Fault } from '../../core/errors.ts';

/** `unreachable`: no connection, or it was lost; `late`: no answer in time; `refused`: answered with an error; `garbled`: not understood. */
type DnsFailure = 'unreachable' | 'late' | 'refused' | 'garbled';

export class DnsFault extends Fault {
  readonly failure: DnsFailure;
  /** The server's response code, if it has sent one. */
  readonly code: number | undefined;

  constructor(failure: DnsFailure, message: string, code?: number, cause?: unknown) {
    super('unavailable', message, { cause });
    this.failure = failure;
    this.code = code;
  }
}

export const garbled = (what: string): DnsFault => new DnsFault('garbled', `the answer cannot be read: ${what}`);

/** Types of records that are sent or understood, by number (RFC 1035, RFC 3596, RFC 8945). */
export const typeCodes = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, AAAA: 28, TSIG: 250, AXFR: 252, ANY: 255 } as const;

export const classIn = 1;
export const classNone = 254;
export const classAny = 255;

export const opcodeUpdate = 5;

/** Response codes with what they mean for whoever sent an update. */
const rcodes: Readonly<Record<number, readonly [name: string, meaning: string]>> = {
  1: ['FORMERR', 'the server could not read the message'],
  2: ['SERVFAIL', 'the server failed; its log says why'],
  3: ['NXDOMAIN', 'a name that should exist does not'],
  4: ['NOTIMP', 'the server does not do dynamic updates'],
  5: ['REFUSED', 'the server does not allow this key to make this change'],
  6: ['YXDOMAIN', 'a name exists that should not'],
  7: ['YXRRSET', 'a record exists that should not'],
  8: ['NXRRSET', 'a record that should exist does not'],
  9: ['NOTAUTH', 'the server is not the primary of the zone, or does not know the key'],
  10: ['NOTZONE', 'a name is outside the zone'],
  16: ['BADSIG', 'the secret of the key is not the one the server has'],
  17: ['BADKEY', 'the server does not know a key of that name and algorithm'],
  18: ['BADTIME', 'the clocks of this machine and the server differ too much'],
};

export const rcode = {
  noError: 0,
  servfail: 2,
  nxdomain: 3,
  refused: 5,
  yxdomain: 6,
  yxrrset: 7,
  nxrrset: 8,
  notauth: 9,
  badsig: 16,
  badkey: 17,
  badtime: 18,
} as const;

/** Whether a code says that what an update requires is not so. */
export const isUnmet = (code: number | undefined): boolean =>
  code === rcode.yxdomain || code === rcode.yxrrset || code === rcode.nxrrset;

export function rcodeText(code: number): string {
  const [name, meaning] = rcodes[code] ?? [`code ${code}`, 'an answer of unknown meaning'];
  return `${name} (${meaning})`;
}

const longestName = 255;
const longestLabel = 63;
const hostLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Labels of letters, digits and hyphens, in lower case, no dot at the end: what a host or a zone may be called. */
export function isHostName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => hostLabel.test(label));
}

/** The bytes of a name, uncompressed and in lower case; a label may hold any byte but is written as it is given. */
export function nameBytes(name: string): Buffer {
  const bytes = Buffer.allocUnsafe(name.length + 2);
  const end = writeName(bytes, 0, name);
  return bytes.subarray(0, end);
}

/** Writes an ASCII name; returns where it ends. */
export function writeName(into: Buffer, at: number, name: string): number {
  const end = name === '' || name === '.' ? at : writeLabels(into, at, name, name.length);
  into[end] = 0;
  return end + 1;
}

/** Writes the labels of the first `length` characters, without what ends a name. */
export function writeLabels(into: Buffer, at: number, name: string, length: number): number {
  let start = at;
  let offset = at + 1;
  for (let i = 0; i < length; i++) {
    const code = name.charCodeAt(i);
    if (code === 46) {
      closeLabel(into, start, offset, name);
      start = offset++;
    } else {
      into[offset++] = code >= 65 && code <= 90 ? code + 32 : code;
    }
  }
  if (offset === start + 1 && length > 0 && name.charCodeAt(length - 1) === 46) return start;
  closeLabel(into, start, offset, name);
  return offset;
}

function closeLabel(into: Buffer, start: number, end: number, name: string): void {
  const length = end - start - 1;
  if (length === 0 || length > longestLabel) throw new Error(`"${name}" is not a domain name`);
  into[start] = length;
}

/** A name in a message and where the message goes on behind it. Pointers may only point backwards, so reading them ends. */
export function readName(message: Buffer, at: number): { name: string; next: number } {
  const labels: string[] = [];
  let offset = at;
  let lowest = at;
  let next = -1;
  let total = 1;
  for (;;) {
    const length = message[offset];
    if (length === undefined) throw garbled('a name goes beyond its end');
    if (length === 0) {
      return { name: labels.join('.'), next: next < 0 ? offset + 1 : next };
    }
    if (length >= 0xc0) {
      const low = message[offset + 1];
      if (low === undefined) throw garbled('a name goes beyond its end');
      const target = ((length & 0x3f) << 8) | low;
      if (target >= lowest) throw garbled('a name points forwards');
      if (next < 0) next = offset + 2;
      offset = lowest = target;
      continue;
    }
    if (length > longestLabel) throw garbled('a label of an unknown kind');
    const end = offset + 1 + length;
    if (end > message.length) throw garbled('a name goes beyond its end');
    total += length + 1;
    if (total > longestName) throw garbled('a name is too long');
    labels.push(labelText(message.subarray(offset + 1, end)));
    offset = end;
  }
}

/** Lower case; what is not plain is written as \DDD, so that no two names look alike. */
function labelText(bytes: Buffer): string {
  let text = '';
  for (const byte of bytes) {
    if (byte >= 65 && byte <= 90) text += String.fromCharCode(byte + 32);
    else if (byte <= 32 || byte >= 127 || byte === 46 || byte === 92) text += `\\${String(byte).padStart(3, '0')}`;
    else text += String.fromCharCode(byte);
  }
  return text;
}
