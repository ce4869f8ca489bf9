import { headerLength, payloads, writeHeader } from './header.ts';
import { parts, type Transcript } from './rakp.ts';
import type { Suite } from './suites.ts';

/** IPMI 2.0 13.17 to 13.23: the packets that open a session. Writers fill a packet from its start and return its length. */

function begin(packet: Buffer, type: number, tag: number, status: number, session: number, length: number): number {
  writeHeader(packet, type, 0, 0, length);
  packet.writeUInt32LE((status << 8) | tag, headerLength);
  packet.writeUInt32LE(session, headerLength + 4);
  return headerLength + length;
}

const algorithmRecord = 8;
const openRequestLength = 32;

export function writeOpenRequest(packet: Buffer, tag: number, consoleId: number, suite: Suite): number {
  // Privilege 0 asks for the highest that the suite allows; the account's own limit counts in RAKP 1.
  const end = begin(packet, payloads.openRequest, tag, 0, consoleId, openRequestLength);
  const algorithms = [suite.authentication, suite.integrity, suite.confidentiality];
  for (let kind = 0; kind < algorithms.length; kind++) {
    const offset = headerLength + 8 + kind * algorithmRecord;
    packet.writeUInt32LE(0x08000000 | kind, offset);
    packet.writeUInt32LE(algorithms[kind] ?? 0, offset + 4);
  }
  return end;
}

export function writeRakp1(packet: Buffer, tag: number, bmcId: number, transcript: Transcript): number {
  const user = parts.user(transcript);
  const end = begin(packet, payloads.rakp1, tag, 0, bmcId, 28 + user.length);
  parts.consoleRandom(transcript).copy(packet, headerLength + 8);
  packet[headerLength + 24] = parts.role(transcript);
  packet[headerLength + 25] = 0;
  packet[headerLength + 26] = 0;
  packet[headerLength + 27] = user.length;
  user.copy(packet, headerLength + 28);
  return end;
}

/** With a status other than 0 it tells the BMC to forget the session, and carries no code. */
export function writeRakp3(packet: Buffer, tag: number, status: number, bmcId: number, code: Buffer): number {
  const length = status === 0 ? code.length : 0;
  const end = begin(packet, payloads.rakp3, tag, status, bmcId, 8 + length);
  code.copy(packet, headerLength + 8, 0, length);
  return end;
}

/** What every answer of the set-up begins with. */
export interface SetupAnswer {
  readonly tag: number;
  /** IPMI 2.0 table 13-15; the fields below are there only if it is 0. */
  readonly status: number;
}

interface OpenAnswer extends SetupAnswer {
  readonly bmcId: number;
  /** Whether the algorithms are the ones that were asked for. */
  readonly asAsked: boolean;
}

function payload(packet: Buffer): Buffer {
  return packet.subarray(headerLength, headerLength + packet.readUInt16LE(14));
}

/** Readers take a packet that is a set-up answer. */
export function readRefusal(packet: Buffer): SetupAnswer | undefined {
  const status = packet[headerLength + 1] ?? 0;
  return status === 0 ? undefined : { tag: packet[headerLength] ?? 0, status };
}

export function readOpenResponse(packet: Buffer, suite: Suite): OpenAnswer | undefined {
  const bytes = payload(packet);
  const answer = { tag: bytes[0] ?? 0, status: bytes[1] ?? 0, bmcId: 0, asAsked: false };
  if (answer.status !== 0) return answer;
  if (bytes.length < 36) return undefined;
  const algorithm = (kind: number) => (bytes[12 + kind * algorithmRecord + 4] ?? 0) & 0x3f;
  answer.bmcId = bytes.readUInt32LE(8);
  answer.asAsked =
    algorithm(0) === suite.authentication && algorithm(1) === suite.integrity && algorithm(2) === suite.confidentiality;
  return answer.bmcId === 0 ? undefined : answer;
}

export function readRakp2(packet: Buffer, suite: Suite) {
  const bytes = payload(packet);
  const status = bytes[1] ?? 0;
  if (status === 0 && bytes.length < 40 + suite.macLength) return undefined;
  const code = bytes.subarray(40, 40 + suite.macLength);
  return { tag: bytes[0] ?? 0, status, bmcRandomAndGuid: bytes.subarray(8, 40), code };
}

export function readRakp4(packet: Buffer, suite: Suite) {
  const bytes = payload(packet);
  const status = bytes[1] ?? 0;
  if (status === 0 && bytes.length < 8 + suite.tagLength) return undefined;
  return { tag: bytes[0] ?? 0, status, code: bytes.subarray(8, 8 + suite.tagLength) };
}

/** IPMI 2.0 table 13-15: what a BMC says when it refuses a session. */
export const statuses = {
  noResources: 0x01,
  invalidSession: 0x02,
  inactiveSession: 0x08,
  invalidRole: 0x09,
  unauthorizedRole: 0x0a,
  noResourcesForRole: 0x0b,
  unauthorizedName: 0x0d,
  invalidCheckValue: 0x0f,
  noSuiteMatch: 0x11,
} as const;

/** Answers to an open request that refuse its algorithms. 0Eh and 12h are not in the table, but BMCs send them. */
const suiteRefusals: ReadonlySet<number> = new Set([0x04, 0x05, 0x06, 0x07, 0x0e, 0x10, 0x11, 0x12]);

export function refusesSuite(status: number): boolean {
  return suiteRefusals.has(status);
}

/** The session the BMC made for the open request is gone: another one may work. */
export function forgotSession(status: number): boolean {
  return status === statuses.invalidSession || status === statuses.inactiveSession;
}

/** The account may not have the privilege asked for: a lower one may do. */
export function refusesLevel(status: number): boolean {
  return status === statuses.invalidRole || status === statuses.unauthorizedRole;
}

export function isCrowded(status: number): boolean {
  return status === statuses.noResources || status === statuses.noResourcesForRole;
}
