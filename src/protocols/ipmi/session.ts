import { isSealed } from './header.ts';
import type { IpmiRequest, IpmiResponse } from './link.ts';
import { inWindow, messageOffset, openMessage, type Seal, sealMessage, sealOverhead } from './seal.ts';
import { packetSize, type Wire } from './wire.ts';

/** IPMI 2.0 13.8: addresses of the service processor and of a remote console. */
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
/** The service processor remembers who asked, and sends the answer on to us. */
const tracked = 0x40;

export const longestData = packetSize - sealOverhead - requestOverhead - bridgeOverhead;

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

/** An answer may come as it was on the bus, to the service processor, or inside the bridge's own, which may also say that it cannot. */
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
