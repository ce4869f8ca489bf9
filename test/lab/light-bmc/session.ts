import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { payloadTypes, writePlus } from './packets.ts';

/** Cipher suites 3 and 17 (IPMI 2.0 table 22-20), known by their algorithm numbers. */
export const suites = [
  { id: 3, hash: 'sha1', authentication: 1, integrity: 1, confidentiality: 1, mac: 20, trailer: 12 },
  { id: 17, hash: 'sha256', authentication: 3, integrity: 4, confidentiality: 1, mac: 32, trailer: 16 },
] as const;

export type Suite = (typeof suites)[number];

export interface Session {
  readonly id: number;
  readonly remoteId: number;
  readonly suite: Suite;
  readonly random: Buffer;
  used: number;
  /** The highest level its user may ask for; 0 until RAKP 1. */
  limit: number;
  level: number;
  /** What RAKP 3 has to show, and RAKP 4 shows. */
  expected: Buffer | undefined;
  proof: Buffer | undefined;
  keys: { readonly integrity: Buffer; readonly encryption: Buffer } | undefined;
  /** Set by a correct RAKP 3. */
  isOpen: boolean;
  sent: number;
  highest: number;
  seen: number;
}

export const hmac = ({ hash }: Suite, key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer => {
  const mac = createHmac(hash, key);
  for (const part of parts) mac.update(part);
  return mac.digest();
};

export function deriveKeys(suite: Suite, sessionKey: Buffer): NonNullable<Session['keys']> {
  return {
    integrity: hmac(suite, sessionKey, Buffer.alloc(20, 1)),
    encryption: hmac(suite, sessionKey, Buffer.alloc(20, 2)).subarray(0, 16),
  };
}

export const areEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

/** Whether the number is new and within the window of 16 behind and 15 ahead (section 6.12.13). Remembers it. */
export function takeSequence(session: Session, sequence: number): boolean {
  const ahead = sequence - session.highest;
  if (sequence === 0 || ahead > 15 || ahead <= -16) return false;
  if (ahead > 0) {
    session.seen = ahead > 15 ? 1 : ((session.seen << ahead) | 1) & 0xffff;
    session.highest = sequence;
    return true;
  }
  const bit = 1 << -ahead;
  if (session.seen & bit) return false;
  session.seen |= bit;
  return true;
}

/** The message inside a sealed packet, if the packet is genuine. */
export function unseal({ suite, keys }: Session, packet: Buffer, payload: Buffer): Buffer | undefined {
  if (!keys || packet.length < 16 + payload.length + 2 + suite.trailer || payload.length < 32) return undefined;
  const trailer = packet.subarray(-suite.trailer);
  const signed = packet.subarray(4, -suite.trailer);
  if (!areEqual(hmac(suite, keys.integrity, signed).subarray(0, suite.trailer), trailer)) return undefined;
  if (payload.length % 16 !== 0) return undefined;
  const decipher = createDecipheriv('aes-128-cbc', keys.encryption, payload.subarray(0, 16)).setAutoPadding(false);
  const plain = Buffer.concat([decipher.update(payload.subarray(16)), decipher.final()]);
  const padding = plain.at(-1)!;
  return padding + 1 > plain.length ? undefined : plain.subarray(0, plain.length - 1 - padding);
}

/** Encrypted and authenticated. */
const protectedForm = 0xc0;

export function seal(session: Session, message: Buffer, type: number = payloadTypes.ipmi): Buffer {
  const { suite, keys, remoteId } = session;
  session.sent += 1;
  const padding = 15 - (message.length % 16);
  const plain = Buffer.concat([
    message,
    Buffer.from(Array.from({ length: padding }, (_, i) => i + 1)),
    Buffer.of(padding),
  ]);
  const vector = randomBytes(16);
  const cipher = createCipheriv('aes-128-cbc', keys!.encryption, vector).setAutoPadding(false);
  const sealed = Buffer.concat([vector, cipher.update(plain), cipher.final()]);
  const packet = writePlus(protectedForm | type, remoteId, session.sent, sealed);
  const fill = (4 - ((packet.length - 4 + 2) % 4)) % 4;
  const signed = Buffer.concat([packet, Buffer.alloc(fill, 0xff), Buffer.of(fill, 0x07)]);
  return Buffer.concat([signed, hmac(suite, keys!.integrity, signed.subarray(4)).subarray(0, suite.trailer)]);
}
