import { createHmac, timingSafeEqual } from 'node:crypto';
import { classAny, DnsFault, garbled, nameBytes, rcode, rcodeText, readName, typeCodes } from './names.ts';
import type { Message, WireRecord } from './message.ts';

/** Signatures of messages by a shared key (RFC 8945). */
export const tsigAlgorithms = {
  'hmac-md5': { wire: 'hmac-md5.sig-alg.reg.int', hash: 'md5' },
  'hmac-sha1': { wire: 'hmac-sha1', hash: 'sha1' },
  'hmac-sha224': { wire: 'hmac-sha224', hash: 'sha224' },
  'hmac-sha256': { wire: 'hmac-sha256', hash: 'sha256' },
  'hmac-sha384': { wire: 'hmac-sha384', hash: 'sha384' },
  'hmac-sha512': { wire: 'hmac-sha512', hash: 'sha512' },
} as const;

export type TsigAlgorithm = keyof typeof tsigAlgorithms;

export interface TsigKey {
  readonly name: string;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Buffer;
}

const fudge = 300;

/** Appends the signature to a message. `prior`: what an answer's signature covers besides, the length and MAC of the request's. */
export function sign(message: Buffer, key: TsigKey, now: number, prior = nothing): { bytes: Buffer; mac: Buffer } {
  const name = nameBytes(key.name);
  const algorithm = nameBytes(tsigAlgorithms[key.algorithm].wire);
  const time = timeBytes(now);
  const mac = hmac(key, [prior, message, name, classAndTtl, algorithm, time, noErrorNoData]);
  const tail = Buffer.alloc(name.length + 10 + algorithm.length + 16 + mac.length);
  let at = name.copy(tail, 0);
  at = tail.writeUInt16BE(typeCodes.TSIG, at);
  at += classAndTtl.copy(tail, at);
  at = tail.writeUInt16BE(algorithm.length + 16 + mac.length, at);
  at += algorithm.copy(tail, at);
  at += time.copy(tail, at);
  at = tail.writeUInt16BE(mac.length, at);
  at += mac.copy(tail, at);
  at = tail.writeUInt16BE(message.readUInt16BE(0), at);
  tail.writeUInt32BE(0, at);
  const bytes = Buffer.concat([message, tail]);
  bytes.writeUInt16BE(message.readUInt16BE(10) + 1, 10);
  return { bytes, mac };
}

/** Makes sure that an answer comes from who has the key, belongs to our request and is of now. */
export function verify(bytes: Buffer, message: Message, key: TsigKey, requestMac: Buffer, now: number): void {
  const record = message.additional.at(-1);
  if (record?.type !== typeCodes.TSIG) {
    throw message.code === rcode.noError
      ? new DnsFault('garbled', 'the answer is not signed')
      : new DnsFault('refused', rcodeText(message.code), message.code);
  }
  if (record.class !== classAny || record.ttl !== 0) throw garbled('the signature has a wrong class');
  const found = readSignature(bytes, record);
  if (found.error !== 0 && found.mac.length === 0) throw new DnsFault('refused', rcodeText(found.error), found.error);
  if (record.name !== key.name.toLowerCase() || found.algorithm !== tsigAlgorithms[key.algorithm].wire)
    throw new DnsFault('garbled', 'the answer is signed with another key');
  const unsigned = Buffer.from(bytes.subarray(0, record.at));
  unsigned.writeUInt16BE(found.originalId, 0);
  unsigned.writeUInt16BE(message.additional.length - 1, 10);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(requestMac.length);
  const expected = hmac(key, [
    length,
    requestMac,
    unsigned,
    nameBytes(key.name),
    classAndTtl,
    nameBytes(found.algorithm),
    bytes.subarray(found.timeAt, found.timeAt + 8),
    bytes.subarray(found.errorAt, record.dataEnd),
  ]);
  if (found.mac.length !== expected.length || !timingSafeEqual(found.mac, expected))
    throw new DnsFault('garbled', 'the signature of the answer is wrong');
  if (found.error === rcode.badtime) throw new DnsFault('refused', rcodeText(found.error), found.error);
  if (Math.abs(found.time - now) > found.fudge)
    throw new DnsFault('garbled', 'the answer is signed for another time; compare the clocks of both machines');
}

interface Signature {
  readonly algorithm: string;
  readonly timeAt: number;
  readonly time: number;
  readonly fudge: number;
  readonly mac: Buffer;
  readonly originalId: number;
  readonly errorAt: number;
  readonly error: number;
}

function readSignature(bytes: Buffer, { dataAt, dataEnd }: WireRecord): Signature {
  const { name, next } = readName(bytes, dataAt);
  if (next + 16 > dataEnd) throw garbled('the signature is cut off');
  const macEnd = next + 10 + bytes.readUInt16BE(next + 8);
  if (macEnd + 6 > dataEnd) throw garbled('the signature is cut off');
  if (macEnd + 6 + bytes.readUInt16BE(macEnd + 4) !== dataEnd) throw garbled('the signature has a wrong length');
  return {
    algorithm: name,
    timeAt: next,
    time: bytes.readUIntBE(next, 6),
    fudge: bytes.readUInt16BE(next + 6),
    mac: bytes.subarray(next + 10, macEnd),
    originalId: bytes.readUInt16BE(macEnd),
    errorAt: macEnd + 2,
    error: bytes.readUInt16BE(macEnd + 2),
  };
}

/** The class and the time to live that every signature has. */
const classAndTtl = Buffer.from([0, classAny, 0, 0, 0, 0]);
const noErrorNoData = Buffer.alloc(4);
const nothing = Buffer.alloc(0);

function timeBytes(now: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUIntBE(now, 0, 6);
  bytes.writeUInt16BE(fudge, 6);
  return bytes;
}

function hmac({ algorithm, secret }: TsigKey, parts: readonly Buffer[]): Buffer {
  const mac = createHmac(tsigAlgorithms[algorithm].hash, secret);
  for (const part of parts) mac.update(part);
  return mac.digest();
}
