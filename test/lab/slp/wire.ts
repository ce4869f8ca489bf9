// SLPv2 messages as agents send them, written from RFC 2608 apart from the code under test.

const u8 = (value: number): Buffer => Buffer.from([value & 0xff]);
const u16 = (value: number): Buffer => Buffer.from([(value >> 8) & 0xff, value & 0xff]);
const u24 = (value: number): Buffer => Buffer.concat([u8(value >> 16), u16(value)]);
const string = (text: string): Buffer => Buffer.concat([u16(Buffer.byteLength(text)), Buffer.from(text)]);

export interface Head {
  readonly xid: number;
  readonly flags?: number;
  readonly language?: string;
  /** Stated instead of the true length. */
  readonly length?: number;
}

export const overflow = 0x8000;

export function message(fn: number, { xid, flags = 0, language = 'en', length }: Head, ...parts: Buffer[]): Buffer {
  const rest = Buffer.concat([u16(flags), u24(0), u16(xid), string(language), ...parts]);
  return Buffer.concat([u8(2), u8(fn), u24(length ?? rest.length + 5), rest]);
}

const urlEntry = (url: string): Buffer => Buffer.concat([u8(0), u16(65_535), string(url), u8(0)]);

export const serviceReply = (head: Head, urls: readonly string[], error = 0, count = urls.length): Buffer =>
  message(2, head, u16(error), u16(count), ...urls.map(urlEntry));

export const attributeReply = (head: Head, text: string, error = 0): Buffer =>
  message(7, head, u16(error), string(text), u8(0));

export const agentAdvert = (head: Head, url: string, error = 0): Buffer =>
  message(
    8,
    head,
    u16(error),
    Buffer.from([0, 0, 0, 9]),
    string(url),
    string('DEFAULT'),
    string(''),
    string(''),
    u8(0),
  );

export interface Request {
  readonly fn: number;
  readonly xid: number;
  readonly multicast: boolean;
  readonly previous: readonly string[];
  /** The service type, or the URL of an attribute request. */
  readonly subject: string;
  readonly scopes: string;
}

export function readRequest(packet: Buffer): Request {
  let at = 12;
  const next = (): string => {
    const from = at + 2;
    at = from + packet.readUInt16BE(at);
    return packet.toString('utf8', from, at);
  };
  next();
  const previous = next()
    .split(',')
    .filter((each) => each !== '');
  const subject = next();
  const flags = packet.readUInt16BE(5);
  return {
    fn: packet[1]!,
    xid: packet.readUInt16BE(10),
    multicast: (flags & 0x2000) !== 0,
    previous,
    subject,
    scopes: next(),
  };
}
