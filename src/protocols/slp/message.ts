/** RFC 2608 section 8: the header all messages begin with, 14 bytes and the language tag. */
const headerLength = 14;
const version = 2;

/** RFC 2608 section 8, function ids. */
const functions = {
  serviceRequest: 1,
  serviceReply: 2,
  attributeRequest: 6,
  attributeReply: 7,
  agentAdvertisement: 8,
} as const;

/** RFC 2608 section 7: who is busy wants to be asked again later. */
export const errors = { busy: 10 } as const;

const flags = { overflow: 0x8000, multicast: 0x2000 } as const;

interface ReplyBase {
  readonly xid: number;
  /** RFC 2608 section 7; 0 is no error. */
  readonly error: number;
  /** There was more than fits a datagram. */
  readonly overflow: boolean;
}

/** What a user agent may hear. */
export type Reply =
  | (ReplyBase & { readonly kind: 'services'; readonly urls: readonly string[] })
  | (ReplyBase & { readonly kind: 'attributes'; readonly text: string })
  | (ReplyBase & { readonly kind: 'agent'; readonly url: string });

/** The length a message states; undefined if its beginning is not of SLPv2. */
export function statedLength(bytes: Buffer): number | undefined {
  if (bytes.length < 5 || bytes[0] !== version) return undefined;
  return bytes.readUIntBE(2, 3);
}

export const statedXid = (packet: Buffer): number | undefined =>
  packet.length < headerLength ? undefined : packet.readUInt16BE(10);

/** Undefined: not for a user agent, or not whole. Of a list of URLs that is cut off, those before the cut count. */
export function decodeReply(packet: Buffer): Reply | undefined {
  const length = statedLength(packet);
  if (length === undefined || length < headerLength || packet.length < headerLength) return undefined;
  const overflow = (packet.readUInt16BE(5) & flags.overflow) !== 0;
  if (length > packet.length && !overflow) return undefined;
  const xid = packet.readUInt16BE(10);
  const reader = new Reader(packet.subarray(12, length));
  // Any language will do: models, serial numbers and addresses are the same in all.
  const language = reader.text();
  const error = reader.number(2);
  if (language === undefined || error === undefined) return undefined;
  const base = { xid, error, overflow };
  const kind = packet[1];
  if (kind === functions.serviceReply) return { ...base, kind: 'services', urls: error === 0 ? readUrls(reader) : [] };
  if (kind === functions.attributeReply) {
    const text = error === 0 ? reader.text() : '';
    if (text === undefined && !overflow) return undefined;
    return { ...base, kind: 'attributes', text: text ?? '' };
  }
  if (kind !== functions.agentAdvertisement || !reader.skip(4)) return undefined;
  const url = reader.text();
  return url === undefined ? undefined : { ...base, kind: 'agent', url };
}

/** RFC 2608 4.3: URL entries. */
function readUrls(reader: Reader): string[] {
  const urls: string[] = [];
  const count = reader.number(2) ?? 0;
  for (let i = 0; i < count; i++) {
    reader.skip(3);
    const url = reader.text();
    if (url === undefined) break;
    urls.push(url);
    if (!skipAuthenticators(reader)) break;
  }
  return urls;
}

/** RFC 2608 9.2: their length counts the four bytes it stands in, too. */
function skipAuthenticators(reader: Reader): boolean {
  const count = reader.number(1);
  if (count === undefined) return false;
  for (let i = 0; i < count; i++) {
    reader.skip(2);
    const length = reader.number(2);
    if (length === undefined || length < 4 || !reader.skip(length - 4)) return false;
  }
  return true;
}

/** A request: its header and its texts, each behind its length. */
function encodeRequest(
  kind: (typeof functions)['serviceRequest' | 'attributeRequest'],
  { xid, multicast }: { xid: number; multicast: boolean },
  texts: readonly string[],
): Buffer {
  const body = Buffer.concat([language, ...texts].map(counted));
  const packet = Buffer.alloc(12 + body.length);
  packet[0] = version;
  packet[1] = kind;
  packet.writeUIntBE(packet.length, 2, 3);
  packet.writeUInt16BE(multicast ? flags.multicast : 0, 5);
  packet.writeUInt16BE(xid, 10);
  body.copy(packet, 12);
  return packet;
}

const language = 'en';

function counted(text: string): Buffer {
  const bytes = Buffer.from(text);
  const packet = Buffer.alloc(2 + bytes.length);
  packet.writeUInt16BE(bytes.length);
  bytes.copy(packet, 2);
  return packet;
}

/** Reads a packet from the front. Past its end every read gives `undefined`, and so does every one after it. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  #ended = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  number(width: 1 | 2 | 3 | 4): number | undefined {
    const from = this.#take(width);
    return from === undefined ? undefined : this.#bytes.readUIntBE(from, width);
  }

  /** Text behind its length in two bytes. */
  text(): string | undefined {
    const length = this.number(2);
    const from = length === undefined ? undefined : this.#take(length);
    return from === undefined ? undefined : this.#bytes.toString('utf8', from, from + length!);
  }

  skip(length: number): boolean {
    return this.#take(length) !== undefined;
  }

  #take(length: number): number | undefined {
    const from = this.#at;
    if (this.#ended || length > this.#bytes.length - from) {
      this.#ended = true;
      return undefined;
    }
    this.#at += length;
    return from;
  }
}

const scope = 'DEFAULT';
/** RFC 2608 section 8.1: no service type is as long as to leave no room for previous responders in a datagram. */
const mostBytes = 1_400;

/** A request for services of a type; those named have answered and need not again. */
export function serviceRequest(xid: number, type: string, previous: Iterable<string> | undefined): Buffer {
  const room = mostBytes - headerLength - type.length - scope.length - 16;
  const list = previous === undefined ? '' : fitting(previous, room);
  const heading = { xid, multicast: previous !== undefined };
  return encodeRequest(functions.serviceRequest, heading, [list, type, scope, '', '']);
}

export const attributeRequest = (xid: number, url: string): Buffer =>
  encodeRequest(functions.attributeRequest, { xid, multicast: false }, ['', url, scope, '', '']);

/** As many addresses as there is room for. Those left out answer again, which does no harm. */
function fitting(addresses: Iterable<string>, room: number): string {
  let list = '';
  for (const each of addresses) {
    const address = each.replace(/%.*/, '');
    const longer = list === '' ? address : `${list},${address}`;
    if (longer.length > room) break;
    list = longer;
  }
  return list;
}

export const slpPort = 427;
export const group4 = '239.255.255.253';

/** What directory agents are asked for by. */
export const directoryType = 'service:directory-agent';

/** RFC 3111 4.1: the group of directory agents; else the one of all agents, and the one of those with services of the type. */
export const groups6 = (type: string): string[] =>
  type === directoryType ? ['ff02::123'] : ['ff02::116', `ff02::1:${(0x1000 + typeHash(type)).toString(16)}`];

export function typeHash(type: string): number {
  let hash = 0;
  for (const byte of Buffer.from(type)) hash = (hash * 33 + byte) & 0x3ff;
  return hash;
}
