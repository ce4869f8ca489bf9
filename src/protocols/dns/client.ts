import { isUnmet, rcode, rcodeText, typeCodes } from './codes.ts';
import { DnsConnection } from './connection.ts';
import { DnsFault, garbled } from './faults.ts';
import { type Message, readMessage } from './message.ts';
import { readName } from './names.ts';
import { recordTexts } from './record-text.ts';
import { sign, type TsigKey, verify } from './tsig.ts';
import { type Batch, queryMessage, type Requirement, requirementMessage } from './update.ts';

const patience = 20_000;

export interface Soa {
  readonly zone: string;
  readonly serial: number;
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
    const key = this.#key;
    if (!key) throw new Error('An update needs a key.');
    const connection = await this.#open();
    message.writeUInt16BE(connection.newId(), 0);
    const { bytes, mac } = sign(message, key, seconds());
    const answer = await connection.exchange(bytes, patience);
    const parsed = readMessage(answer);
    verify(answer, parsed, key, mac, seconds());
    return parsed.code;
  }

  /** The start-of-authority record of the zone that a name is in; undefined if the server has none. */
  async soa(name: string): Promise<Soa | undefined> {
    const answer = await this.#query(name, typeCodes.SOA);
    return readSoa(answer, readMessage(answer));
  }

  /** The records of a name as words for people, such as "A 10.0.0.1". */
  async records(name: string): Promise<string[]> {
    const answer = await this.#query(name, typeCodes.ANY);
    return recordTexts(answer, readMessage(answer), name);
  }

  async #query(name: string, type: number): Promise<Buffer> {
    const connection = await this.#open();
    const message = queryMessage(name, type);
    message.writeUInt16BE(connection.newId(), 0);
    return connection.exchange(message, patience);
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
