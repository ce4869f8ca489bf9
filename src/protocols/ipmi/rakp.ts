import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Suite } from './suites.ts';

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

/** The parts of a transcript that are filled in as the other side tells them, and the user part that RAKP 1 sends. */
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
