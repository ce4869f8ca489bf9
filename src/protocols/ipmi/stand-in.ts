import { createSecretKey, type KeyObject } from 'node:crypto';
import { headerLength, isSealed, payloads, writeHeader } from './header.ts';
import { deriveKeys, newTranscript, parts, rakp2Code, rakp4Code, sessionKey, type Transcript } from './rakp.ts';
import { messageOffset, newSeal, openMessage, type Seal, sealMessage } from './seal.ts';
import { type Suite, suites } from './suites.ts';
import { packetSize } from './wire.ts';

interface Visit {
  readonly consoleId: number;
  readonly suite: Suite;
  transcript: Transcript | undefined;
  sik: KeyObject | undefined;
  seal: Seal | undefined;
}

/**
 * A BMC that is none: it lets everybody in who has the password, and answers every command with what it is given. It stands in where
 * sessions are only rehearsed, and is as careless as nothing that hardware depends on may be.
 */
export class StandIn {
  readonly #key: KeyObject;
  readonly #answer: Uint8Array;
  readonly #visits = new Map<number, Visit>();
  readonly #packet = Buffer.alloc(packetSize);
  #lastId = 0;

  /** `answer`: a completion code and what follows it. */
  constructor(password: string, answer: Uint8Array) {
    this.#key = createSecretKey(Buffer.from(password));
    this.#answer = answer;
  }

  /** The reply to a packet; it is overwritten by the next. */
  reply(packet: Buffer): Buffer | undefined {
    const type = packet[5];
    if (type === payloads.openRequest) return this.#open(packet);
    const visit = this.#visits.get(packet.readUInt32LE(isSealed(packet) ? 6 : headerLength + 4));
    if (visit === undefined) return undefined;
    if (type === payloads.rakp1) return this.#prove(visit, packet);
    if (type === payloads.rakp3) return this.#letIn(visit, packet);
    return this.#obey(visit, packet);
  }

  #setUp(type: number, request: Buffer, consoleId: number, rest: Uint8Array): Buffer {
    const reply = this.#packet;
    writeHeader(reply, type, 0, 0, 8 + rest.length);
    reply.writeUInt32LE(request[headerLength] ?? 0, headerLength);
    reply.writeUInt32LE(consoleId, headerLength + 4);
    reply.set(rest, headerLength + 8);
    return reply.subarray(0, headerLength + 8 + rest.length);
  }

  #open(packet: Buffer): Buffer {
    const id = ++this.#lastId;
    const consoleId = packet.readUInt32LE(headerLength + 4);
    const suite = packet[headerLength + 12] === suites[3].authentication ? suites[3] : suites[17];
    this.#visits.set(id, { consoleId, suite, transcript: undefined, sik: undefined, seal: undefined });
    const algorithms = packet.subarray(headerLength + 8, headerLength + 32);
    const ids = Buffer.alloc(4);
    ids.writeUInt32LE(id);
    return this.#setUp(payloads.openResponse, packet, consoleId, Buffer.concat([ids, algorithms]));
  }

  #prove(visit: Visit, packet: Buffer): Buffer {
    const { consoleId, suite } = visit;
    const said = packet.subarray(headerLength);
    const transcript = newTranscript(said[24] ?? 0, said.subarray(28, 28 + (said[27] ?? 0)));
    parts.setIds(transcript, consoleId, said.readUInt32LE(4));
    said.copy(parts.consoleRandom(transcript), 0, 8, 24);
    visit.transcript = transcript;
    visit.sik = sessionKey(suite, this.#key, transcript);
    const rest = [parts.bmcRandomAndGuid(transcript), rakp2Code(suite, this.#key, transcript)];
    return this.#setUp(payloads.rakp2, packet, consoleId, Buffer.concat(rest));
  }

  #letIn(visit: Visit, packet: Buffer): Buffer | undefined {
    const { consoleId, suite, transcript, sik } = visit;
    if (!transcript || !sik) return undefined;
    // Seen from here we are the console.
    visit.seal = newSeal(suite, deriveKeys(suite, sik), packet.readUInt32LE(headerLength + 4), consoleId);
    return this.#setUp(payloads.rakp4, packet, consoleId, rakp4Code(suite, sik, transcript));
  }

  #obey({ seal }: Visit, packet: Buffer): Buffer | undefined {
    const request = seal && openMessage(seal, packet);
    if (request === undefined) return undefined;
    const reply = this.#packet;
    const [to = 0, netfn = 0, , from = 0, sequence = 0, command = 0] = request;
    const head = [from, netfn | 0x04, 0, to, sequence, command];
    const message = [...head, ...this.#answer, 0];
    message[2] = -((message[0] ?? 0) + (message[1] ?? 0)) & 0xff;
    message[message.length - 1] = -message.slice(3).reduce((sum, byte) => sum + byte, 0) & 0xff;
    reply.set(message, messageOffset);
    return reply.subarray(0, sealMessage(seal!, reply, messageOffset + message.length));
  }
}
