import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { headerLength, payloads, writeHeader } from './header.ts';
import type { Suite } from './link.ts';

/**
 * IPMI 2.0 13.28 to 13.32: the codes and keys of a session are made from what both sides said. It is kept in the order of the
 * RAKP 2 code: console id, BMC id, console random, BMC random, GUID, role, name length, name.
 */
export interface Transcript {
  readonly bytes: Buffer;
}

const at = { consoleId: 0, bmcId: 4, consoleRandom: 8, bmcRandom: 24, guid: 40, role: 56, name: 58 } as const;

export function newTranscript(role: number, user: Uint8Array): Transcript {
  const bytes = Buffer.alloc(at.name + user.length);
  bytes[at.role] = role;
  bytes[at.role + 1] = user.length;
  bytes.set(user, at.name);
  return { bytes };
}

/** The parts of a transcript that are filled in as the other side sends them, and the user part that RAKP 1 sends. */
export const parts = {
  consoleRandom: ({ bytes }: Transcript) => bytes.subarray(at.consoleRandom, at.bmcRandom),
  bmcRandomAndGuid: ({ bytes }: Transcript) => bytes.subarray(at.bmcRandom, at.role),
  guid: ({ bytes }: Transcript) => bytes.subarray(at.guid, at.role),
  user: ({ bytes }: Transcript) => bytes.subarray(at.name),
  role: ({ bytes }: Transcript) => bytes[at.role] ?? 0,
  setIds({ bytes }: Transcript, consoleId: number, bmcId: number): void {
    bytes.writeUInt32LE(consoleId, at.consoleId);
    bytes.writeUInt32LE(bmcId, at.bmcId);
  },
} as const;

const scratch = Buffer.alloc(64);

/** HMAC over pieces of the transcript, given as pairs of start and end. */
function mac(suite: Suite, key: KeyObject, { bytes }: Transcript, ...edges: number[]): Buffer {
  let length = 0;
  for (let index = 0; index < edges.length; index += 2) {
    length += bytes.copy(scratch, length, edges[index], edges[index + 1]);
  }
  return createHmac(suite.hash, key).update(scratch.subarray(0, length)).digest();
}

export function rakp2Code(suite: Suite, userKey: KeyObject, transcript: Transcript): Buffer {
  return createHmac(suite.hash, userKey).update(transcript.bytes).digest();
}

export function rakp3Code(suite: Suite, userKey: KeyObject, transcript: Transcript): Buffer {
  const { length } = transcript.bytes;
  return mac(suite, userKey, transcript, at.bmcRandom, at.guid, at.consoleId, at.bmcId, at.role, length);
}

/** Cut to the length of the suite's packet codes. */
export function rakp4Code(suite: Suite, sik: KeyObject, transcript: Transcript): Buffer {
  const { consoleRandom, bmcRandom, bmcId, guid, role } = at;
  const code = mac(suite, sik, transcript, consoleRandom, bmcRandom, bmcId, consoleRandom, guid, role);
  return code.subarray(0, suite.tagLength);
}

/** The session integrity key, from K_g where the BMC has one, else from the user's password. */
export function sessionKey(suite: Suite, generatingKey: KeyObject, transcript: Transcript): KeyObject {
  const { length } = transcript.bytes;
  return createSecretKey(mac(suite, generatingKey, transcript, at.consoleRandom, at.guid, at.role, length));
}

// 20 bytes for every algorithm, also for SHA-256.
const constant1 = Buffer.alloc(20, 1);
const constant2 = Buffer.alloc(20, 2);
const aesKeyLength = 16;

export interface SessionKeys {
  /** K1. */
  readonly integrity: KeyObject;
  /** The first 16 bytes of K2. */
  readonly confidentiality: KeyObject;
}

export function deriveKeys(suite: Suite, sik: KeyObject): SessionKeys {
  const k1 = createHmac(suite.hash, sik).update(constant1).digest();
  const k2 = createHmac(suite.hash, sik).update(constant2).digest();
  return { integrity: createSecretKey(k1), confidentiality: createSecretKey(k2.subarray(0, aesKeyLength)) };
}

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

/** With a status other than 0 it asks the BMC to forget the session, and carries no code. */
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
