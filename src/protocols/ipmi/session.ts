import { isSealed } from './header.ts';
import type { IpmiRequest, IpmiResponse } from './link.ts';
import { readResponse, requestOverhead, writeRequest } from './message.ts';
import { messageOffset, openMessage, type Seal, sealMessage, sealOverhead } from './seal.ts';
import { inWindow } from './window.ts';
import { packetSize, type Wire } from './wire.ts';

/** An open session. */
export interface Session {
  readonly seal: Seal;
  /** The privilege level it has, and the highest it can get. */
  level: number;
  readonly limit: number;
  /** Number of the last request, 6 bits. */
  requestSequence: number;
  /** When the BMC last answered in it. */
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
export type Heard = IpmiResponse | 'other' | 'stale' | 'invalid';

export function hear(session: Session, packet: Buffer, request: IpmiRequest, sequence: number): Heard {
  if (!isSealed(packet) || !inWindow(session.seal.window, packet.readUInt32LE(10))) return 'stale';
  const message = openMessage(session.seal, packet);
  if (message === undefined) return 'invalid';
  return readResponse(message, request.netfn, request.command, sequence) ?? 'other';
}
