import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  createHmac,
  type Decipheriv,
  timingSafeEqual,
} from 'node:crypto';
import { headerLength, isSealed, payloads, writeHeader } from './header.ts';
import type { SessionKeys } from './rakp.ts';
import type { Suite } from './suites.ts';

/**
 * IPMI 2.0 13.28.4 and 13.29: packets inside a session, encrypted with AES-CBC-128 and closed by a code.
 *
 * A cipher object per packet costs more than the rest of the packet, so a session keeps two and lets their chains run on. To
 * encrypt, a random block goes in front: it comes out as the block that stands on the wire as initialization vector, and the
 * message behind it is chained to it. To decrypt, the vector goes in front too, and what it comes out as is dropped.
 */
export interface Seal {
  readonly suite: Suite;
  readonly keys: SessionKeys;
  readonly consoleId: number;
  readonly bmcId: number;
  readonly encrypt: Cipheriv;
  readonly decrypt: Decipheriv;
  readonly window: Window;
  /** The number of the packet sent last. */
  sequence: number;
}

const block = 16;
const algorithm = 'aes-128-cbc';
const noVector = Buffer.alloc(block);
const nextHeader = 0x07;
const firstCovered = 4;
const trailer = 2;

export function newSeal(suite: Suite, keys: SessionKeys, consoleId: number, bmcId: number): Seal {
  const encrypt = createCipheriv(algorithm, keys.confidentiality, noVector).setAutoPadding(false);
  const decrypt = createDecipheriv(algorithm, keys.confidentiality, noVector).setAutoPadding(false);
  return { suite, keys, consoleId, bmcId, encrypt, decrypt, window: newWindow(), sequence: 0 };
}

function code(seal: Seal, packet: Buffer, end: number): Buffer {
  return createHmac(seal.suite.hash, seal.keys.integrity).update(packet.subarray(firstCovered, end)).digest();
}

/** Where the message of a packet is written before it is sealed: behind the header and the vector. */
export const messageOffset = headerLength + block;

/** The longest packet around a message: vector, confidentiality pad, integrity pad and code. */
export const sealOverhead = headerLength + block + block + 4 + trailer + 16;

/** Encrypts the message between `messageOffset` and `end` in place; the 16 bytes before it must be random. Returns the length. */
export function sealMessage(seal: Seal, packet: Buffer, end: number): number {
  const padding = block - 1 - ((end - messageOffset) % block);
  let at = end;
  for (let value = 1; value <= padding; value++) packet[at++] = value;
  packet[at++] = padding;
  const sealed = seal.encrypt.update(packet.subarray(headerLength, at));
  sealed.copy(packet, headerLength);
  seal.sequence = following(seal.sequence);
  writeHeader(packet, payloads.sealedMessage, seal.bmcId, seal.sequence, at - headerLength);
  const fill = -(at - firstCovered + trailer) & 3;
  for (let count = 0; count < fill; count++) packet[at++] = 0xff;
  packet[at++] = fill;
  packet[at++] = nextHeader;
  return at + code(seal, packet, at).copy(packet, at, 0, seal.suite.tagLength);
}

/** The message of a packet, if the packet is of this session, unaltered and not seen before. */
export function openMessage(seal: Seal, packet: Buffer): Buffer | undefined {
  const { tagLength } = seal.suite;
  const covered = packet.length - tagLength;
  if (!isSealed(packet) || packet.readUInt32LE(6) !== seal.consoleId) return undefined;
  const length = packet.readUInt16LE(14);
  const end = headerLength + length;
  if (length < 2 * block || length % block !== 0 || end + trailer > covered) return undefined;
  const sequence = packet.readUInt32LE(10);
  if (!inWindow(seal.window, sequence)) return undefined;
  if (!timingSafeEqual(code(seal, packet, covered).subarray(0, tagLength), packet.subarray(covered))) return undefined;
  take(seal.window, sequence);
  const plain = seal.decrypt.update(packet.subarray(headerLength, end));
  const padding = plain[plain.length - 1] ?? block;
  return padding < block ? plain.subarray(block, plain.length - 1 - padding) : undefined;
}

/** IPMI 2.0 6.12.13: which sequence numbers of received packets are still taken, each once. */
const behind = 16;
const ahead = 15;

interface Window {
  /** The highest number taken; 0 before the first. */
  highest: number;
  /** Bit n: the number n below the highest has been taken. */
  taken: number;
}

export function newWindow(): Window {
  return { highest: 0, taken: 0 };
}

/** Whether the number would be taken. The first of a session is taken whatever it is: its packet proved to be made with the session's key. */
export function inWindow(window: Window, sequence: number): boolean {
  if (sequence === 0) return false;
  if (window.highest === 0) return true;
  const distance = (sequence - window.highest) | 0;
  if (distance > 0) return distance <= ahead;
  return distance >= -behind && (window.taken & (1 << -distance)) === 0;
}

/** Takes a number that is in the window. */
export function take(window: Window, sequence: number): void {
  const distance = window.highest === 0 ? ahead + 1 : (sequence - window.highest) | 0;
  if (distance > 0) {
    window.taken = distance > ahead ? 1 : (window.taken << distance) | 1;
    window.highest = sequence;
  } else {
    window.taken |= 1 << -distance;
  }
}

/** The number after this one; 0 is kept for packets outside a session. */
export function following(sequence: number): number {
  return sequence >= 0xffffffff ? 1 : sequence + 1;
}
