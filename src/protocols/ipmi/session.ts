import { isSealed } from './header.ts';
import type { IpmiRequest, IpmiResponse } from './link.ts';
import { inWindow, messageOffset, openMessage, type Seal, sealMessage, sealOverhead } from './seal.ts';
import { packetSize, type Wire } from './wire.ts';

/** IPMI 2.0 13.8: addresses of the service processor and of a remote console. */
const responder = 0x20;
const requester = 0x81;

/** Bytes of a request around its data. */
const requestOverhead = 7;
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

/** IPMI 2.0 22.18 and 22.19. */
const app = 0x06;
const closeSession = 0x3c;

export const longestData = packetSize - sealOverhead - requestOverhead;

const vectorLength = 16;

export function newSession(newSeal: Seal, limit: number, now: number): Session {
  return { seal: newSeal, level: levels.user, limit, requestSequence: 0, heardAt: now };
}

export function nextSequence(session: Session): number {
  session.requestSequence = (session.requestSequence + 1) & 0x3f;
  return session.requestSequence;
}

export function sendRequest(wire: Wire, session: Session, request: IpmiRequest, sequence: number): void {
  const packet = wire.packet();
  wire.fill(packet, messageOffset - vectorLength, vectorLength);
  const end = writeRequest(packet, messageOffset, request.netfn, request.command, sequence, request.data);
  wire.send(packet, sealMessage(session.seal, packet, end));
}

/** Ends the session; the answer is not waited for. */
export function sendClose(wire: Wire, session: Session): void {
  const data = Buffer.alloc(4);
  data.writeUInt32LE(session.seal.bmcId);
  sendRequest(wire, session, { netfn: app, command: closeSession, data }, nextSequence(session));
}

/** What a packet turned out to be: the answer, something genuine that was not asked for, something old, or nothing of this session. */
type Heard = IpmiResponse | 'other' | 'stale' | 'invalid';

export function hear(session: Session, packet: Buffer, request: IpmiRequest, sequence: number): Heard {
  if (!isSealed(packet) || !inWindow(session.seal.window, packet.readUInt32LE(10))) return 'stale';
  const message = openMessage(session.seal, packet);
  if (message === undefined) return 'invalid';
  return readResponse(message, request.netfn, request.command, sequence) ?? 'other';
}

function checksum(bytes: Buffer, start: number, end: number): number {
  let sum = 0;
  for (let index = start; index < end; index++) sum += bytes[index] ?? 0;
  return -sum & 0xff;
}

/** Writes a request at an offset and returns where it ends. */
export function writeRequest(
  target: Buffer,
  offset: number,
  netfn: number,
  command: number,
  sequence: number,
  data: Uint8Array | undefined,
): number {
  target[offset] = responder;
  target[offset + 1] = netfn << 2;
  target[offset + 2] = checksum(target, offset, offset + 2);
  target[offset + 3] = requester;
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
  netfn: number,
  command: number,
  sequence: number,
): IpmiResponse | undefined {
  const last = bytes.length - 1;
  if (bytes.length < shortestResponse || bytes[0] !== requester || bytes[5] !== command) return undefined;
  if ((bytes[1] ?? 0) >> 2 !== netfn + 1 || (bytes[4] ?? 0) >> 2 !== sequence) return undefined;
  if (checksum(bytes, 0, 2) !== bytes[2] || checksum(bytes, 3, last) !== bytes[last]) return undefined;
  return { code: bytes[6] ?? 0, data: bytes.subarray(7, last) };
}
