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
