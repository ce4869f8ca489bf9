import { type Ip, ipText } from '../../core/ip.ts';
import { DnsFault, garbled, isUnmet, rcode, rcodeText, readName, typeCodes } from './names.ts';
import { DnsConnection } from './connection.ts';
import { type Message, readMessage, type WireRecord } from './message.ts';
import { sign, type TsigKey, verify } from './tsig.ts';
import { type Batch, queryMessage, type Requirement, requirementMessage } from './update.ts';

const timeout = 20_000;

interface Soa {
  readonly zone: string;
  readonly serial: number;
}

interface Answer {
  readonly bytes: Buffer;
  readonly message: Message;
}

/** Talks to one name server over one TCP connection, which is opened when needed and closed when it has been idle. */
export class DnsClient {
  readonly #host: string;
  readonly #port: number;
  readonly #key: TsigKey | undefined;
  #connection: Promise<DnsConnection> | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(host: string, port: number, key: TsigKey | undefined) {
    this.#host = host;
    this.#port = port;
    this.#key = key;
  }

  /** Sends an update, signed; resolves when the server has done it, and its answer proves to be the server's. */
  async update({ message }: Batch): Promise<void> {
    const code = await this.#signed(message);
    if (code !== rcode.noError) throw new DnsFault('refused', rcodeText(code), code);
  }

  /** Whether what stands at a name is as required, seen by the server itself: no wildcard, no cache, no other view. */
  async meets(zone: string, name: string, requirement: Requirement): Promise<boolean> {
    const code = await this.#signed(requirementMessage(zone, name, requirement));
    if (code !== rcode.noError && !isUnmet(code)) throw new DnsFault('refused', rcodeText(code), code);
    return code === rcode.noError;
  }

  async #signed(message: Buffer): Promise<number> {
    if (!this.#key) throw new Error('An update needs a key.');
    return (await this.#exchange(message)).message.code;
  }

  /** The start-of-authority record of the zone that a name is in; undefined if the server has none. A zone that it could not load is a fault. */
  async soa(name: string): Promise<Soa | undefined> {
    const { bytes, message } = await this.#exchange(queryMessage(name, typeCodes.SOA));
    if (message.code === rcode.servfail) throw new DnsFault('refused', rcodeText(message.code), message.code);
    return readSoa(bytes, message);
  }

  /** The records of a name as words for people, such as "A 10.0.0.1". */
  async records(name: string): Promise<string[]> {
    const { bytes, message } = await this.#exchange(queryMessage(name, typeCodes.ANY));
    return recordTexts(bytes, message, name);
  }

  /** With a key all messages are signed, also questions: a server may show the holder of the key other zones than anybody else. */
  async #exchange(question: Buffer): Promise<Answer> {
    const connection = await this.#open();
    question.writeUInt16BE(connection.newId(), 0);
    const key = this.#key;
    const signed = key && sign(question, key, seconds());
    const bytes = await connection.exchange(signed?.bytes ?? question, timeout);
    const message = readMessage(bytes);
    if (signed) verify(bytes, message, key, signed.mac, seconds());
    return { bytes, message };
  }

  close(): void {
    clearTimeout(this.#idle);
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.then((open) => open.close()).catch(() => {});
  }

  async #open(): Promise<DnsConnection> {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), 5_000).unref();
    const known = this.#connection;
    if (known && (await known.then(({ isOpen }) => isOpen).catch(() => false))) return known;
    if (this.#connection !== known) return this.#open();
    const opened = DnsConnection.open(this.#host, this.#port);
    this.#connection = opened;
    return opened;
  }
}

const seconds = (): number => Math.floor(Date.now() / 1_000);

export function readSoa(bytes: Buffer, message: Message): Soa | undefined {
  if (message.code !== rcode.noError && message.code !== rcode.nxdomain) return undefined;
  const record = [...message.answers, ...message.authority].find(({ type }) => type === typeCodes.SOA);
  if (!record) return undefined;
  const { next: mailAt } = readName(bytes, record.dataAt);
  const { next } = readName(bytes, mailAt);
  if (next + 20 > record.dataEnd) throw garbled('a start of authority is cut off');
  return { zone: record.name, serial: bytes.readUInt32BE(next) };
}

const typeNames: ReadonlyMap<number, string> = new Map([
  ...Object.entries(typeCodes).map(([name, code]) => [code, name] as const),
  [13, 'HINFO'],
  [15, 'MX'],
  [16, 'TXT'],
  [33, 'SRV'],
  [46, 'RRSIG'],
  [47, 'NSEC'],
]);
const mostTexts = 10;

/** The records of a name in an answer as words for people; data is shown of addresses, aliases and names of addresses. */
export function recordTexts(bytes: Buffer, { answers }: Message, name: string): string[] {
  const own = answers.filter((record) => record.name === name);
  return [...new Set(own.map((record) => recordText(bytes, record)))].slice(0, mostTexts);
}

function recordText(bytes: Buffer, { type, dataAt, dataEnd }: WireRecord): string {
  const name = typeNames.get(type) ?? `TYPE${type}`;
  if (type === typeCodes.CNAME || type === typeCodes.PTR) return `${name} ${readName(bytes, dataAt).name}`;
  const ip = addressIn(bytes.subarray(dataAt, dataEnd), type);
  return ip ? `${name} ${ipText(ip)}` : name;
}

function addressIn(data: Buffer, type: number): Ip | undefined {
  if (type === typeCodes.A && data.length === 4) return { family: 4, value: BigInt(data.readUInt32BE(0)) };
  if (type !== typeCodes.AAAA || data.length !== 16) return undefined;
  return { family: 6, value: (data.readBigUInt64BE(0) << 64n) | data.readBigUInt64BE(8) };
}
