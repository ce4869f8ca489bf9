import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  createHmac,
  type Decipheriv,
  timingSafeEqual,
} from 'node:crypto';
import { headerLength, isSealed, payloads, writeHeader } from './header.ts';
import type { IpmiRequest, IpmiResponse, Suite } from './link.ts';
import type { SessionKeys } from './setup-packets.ts';
import { packetSize, type Wire } from './wire.ts';

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
  window: Window;
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
const sealOverhead = headerLength + block + block + 4 + trailer + 16;

/** Encrypts the message between `messageOffset` and `end` in place; the 16 bytes before it must be random. Returns the length. */
export function sealMessage(seal: Seal, packet: Buffer, end: number, type: number = payloads.sealedMessage): number {
  const padding = block - 1 - ((end - messageOffset) % block);
  let at = end;
  for (let value = 1; value <= padding; value++) packet[at++] = value;
  packet[at++] = padding;
  const sealed = seal.encrypt.update(packet.subarray(headerLength, at));
  sealed.copy(packet, headerLength);
  seal.sequence = following(seal.sequence);
  writeHeader(packet, type, seal.bmcId, seal.sequence, at - headerLength);
  const fill = -(at - firstCovered + trailer) & 3;
  for (let count = 0; count < fill; count++) packet[at++] = 0xff;
  packet[at++] = fill;
  packet[at++] = nextHeader;
  return at + code(seal, packet, at).copy(packet, at, 0, seal.suite.tagLength);
}

/** The message of a packet, if the packet is of this session, unaltered and not seen before. */
export function openMessage(seal: Seal, packet: Buffer, type: number = payloads.sealedMessage): Buffer | undefined {
  const { tagLength } = seal.suite;
  const covered = packet.length - tagLength;
  if (!isSealed(packet, type) || packet.readUInt32LE(6) !== seal.consoleId) return undefined;
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
const usuallyAhead = 15;

interface Window {
  /** The highest number taken; 0 before the first. */
  highest: number;
  /** Bit n: the number n below the highest has been taken. */
  taken: number;
  /** How far above the highest a number may be. */
  readonly ahead: number;
}

export function newWindow(ahead = usuallyAhead): Window {
  return { highest: 0, taken: 0, ahead };
}

/** Whether the number would be taken. The first of a session is taken whatever it is: its packet proved to be made with the session's key. */
export function inWindow(window: Window, sequence: number): boolean {
  if (sequence === 0) return false;
  if (window.highest === 0) return true;
  const distance = (sequence - window.highest) | 0;
  if (distance > 0) return distance <= window.ahead;
  return distance >= -behind && (window.taken & (1 << -distance)) === 0;
}

/** Takes a number that is in the window. */
export function take(window: Window, sequence: number): void {
  const distance = window.highest === 0 ? usuallyAhead + 1 : (sequence - window.highest) | 0;
  if (distance > 0) {
    window.taken = distance > usuallyAhead ? 1 : (window.taken << distance) | 1;
    window.highest = sequence;
  } else {
    window.taken |= 1 << -distance;
  }
}

/** The number after this one; 0 is kept for packets outside a session. */
export function following(sequence: number): number {
  return sequence >= 0xffffffff ? 1 : sequence + 1;
}

/** IPMI 2.0 13.8: addresses of the BMC and of a remote console. */
const responder = 0x20;
const requester = 0x81;

/** Bytes of a request around its data. */
const requestOverhead = 7;
const bridgeOverhead = requestOverhead + 1;
const shortestResponse = 8;

export interface Session {
  readonly seal: Seal;
  /** The privilege level it has, and the highest it can get. */
  level: number;
  readonly limit: number;
  /** Number of the last request, 6 bits. */
  requestSequence: number;
  heardAt: number;
}

/** IPMI 2.0 table 6-1 and 22.18: a new session is at level User. */
export const levels = { user: 2, operator: 3, administrator: 4 } as const;

/** IPMI 2.0 22.7, 22.18 and 22.19. */
const app = 0x06;
const sendMessage = 0x34;
const closeSession = 0x3c;
/** The BMC remembers who asked, and sends the answer on to us. */
const tracked = 0x40;

export const longestData = packetSize - sealOverhead - requestOverhead - bridgeOverhead;

export const vectorLength = 16;

export function newSession(seal: Seal, limit: number, now: number): Session {
  return { seal, level: levels.user, limit, requestSequence: 0, heardAt: now };
}

export function nextSequence(session: Session): number {
  session.requestSequence = (session.requestSequence + 1) & 0x3f;
  return session.requestSequence;
}

export function sendRequest(wire: Wire, session: Session, request: IpmiRequest, sequence: number): void {
  const packet = wire.packet();
  wire.fill(packet, messageOffset - vectorLength, vectorLength);
  const end = writeRequest(packet, messageOffset, request, sequence);
  wire.send(packet, sealMessage(session.seal, packet, end));
}

/** Ends the session; the answer is not waited for. */
export function sendClose(wire: Wire, session: Session): void {
  const data = Buffer.alloc(4);
  data.writeUInt32LE(session.seal.bmcId);
  sendRequest(wire, session, { netfn: app, command: closeSession, data }, nextSequence(session));
}

/**
 * What a packet turned out to be: the answer, word that the request was passed on to another controller, something genuine that was
 * not asked for, something old, or nothing of this session.
 */
type Heard = IpmiResponse | 'passed' | 'other' | 'stale' | 'invalid';

export function hear(session: Session, packet: Buffer, request: IpmiRequest, sequence: number): Heard {
  if (!isSealed(packet) || !inWindow(session.seal.window, packet.readUInt32LE(10))) return 'stale';
  const message = openMessage(session.seal, packet);
  if (message === undefined) return 'invalid';
  return readResponse(message, request, sequence) ?? readBridged(message, request, sequence) ?? 'other';
}

/** An answer may come as it was on the bus, to the BMC, or inside the bridge's own, which may also say that it cannot. */
function readBridged(message: Buffer, request: IpmiRequest, sequence: number): IpmiResponse | 'passed' | undefined {
  if (request.bridge === undefined) return undefined;
  const forwarded = readResponse(message, request, sequence, responder);
  if (forwarded) return forwarded;
  const outer = readResponse(message, { netfn: app, command: sendMessage }, sequence);
  if (outer === undefined || outer.code !== 0) return outer;
  return readResponse(outer.data, request, sequence, responder) ?? 'passed';
}

function checksum(bytes: Buffer, start: number, end: number): number {
  let sum = 0;
  for (let index = start; index < end; index++) sum += bytes[index] ?? 0;
  return -sum & 0xff;
}

/** Writes a request at an offset and returns where it ends. */
export function writeRequest(target: Buffer, offset: number, request: IpmiRequest, sequence: number): number {
  const { netfn, command, data, lun = 0, bridge } = request;
  if (bridge === undefined)
    return writeMessage(target, offset, [responder, requester], netfn, lun, command, sequence, data);
  const inner = Buffer.alloc(packetSize);
  inner[0] = tracked | bridge.channel;
  const end = writeMessage(inner, 1, [bridge.address, responder], netfn, lun, command, sequence, data);
  return writeMessage(target, offset, [responder, requester], app, 0, sendMessage, sequence, inner.subarray(0, end));
}

function writeMessage(
  target: Buffer,
  offset: number,
  [to, from]: readonly [number, number],
  netfn: number,
  lun: number,
  command: number,
  sequence: number,
  data: Uint8Array | undefined,
): number {
  target[offset] = to;
  target[offset + 1] = (netfn << 2) | lun;
  target[offset + 2] = checksum(target, offset, offset + 2);
  target[offset + 3] = from;
  target[offset + 4] = sequence << 2;
  target[offset + 5] = command;
  let end = offset + 6;
  if (data !== undefined) {
    target.set(data, end);
    end += data.length;
  }
  target[end] = checksum(target, offset + 3, end);
  return end + 1;
}

/** The response in `bytes` if it is intact and answers this request. */
export function readResponse(
  bytes: Buffer,
  { netfn, command }: Pick<IpmiRequest, 'netfn' | 'command'>,
  sequence: number,
  to = requester,
): IpmiResponse | undefined {
  const last = bytes.length - 1;
  if (bytes.length < shortestResponse || bytes[0] !== to || bytes[5] !== command) return undefined;
  if ((bytes[1] ?? 0) >> 2 !== netfn + 1 || (bytes[4] ?? 0) >> 2 !== sequence) return undefined;
  if (checksum(bytes, 0, 2) !== bytes[2] || checksum(bytes, 3, last) !== bytes[last]) return undefined;
  return { code: bytes[6] ?? 0, data: bytes.subarray(7, last) };
}
