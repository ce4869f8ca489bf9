import { type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Credentials, Suite } from './link.ts';
import { isSetupAnswer, payloads, recipientOf } from './header.ts';
import {
  deriveKeys,
  newTranscript,
  parts,
  rakp2Code,
  rakp3Code,
  rakp4Code,
  readOpenResponse,
  readRakp2,
  readRakp4,
  readRefusal,
  refusesSuite,
  sessionKey,
  type SetupAnswer,
  statuses,
  type Transcript,
  writeOpenRequest,
  writeRakp1,
  writeRakp3,
} from './setup-packets.ts';
import { newSeal, type Seal } from './session.ts';

/** An open request that was sent. Each has an id of its own, so that an answer shows which one it is for. */
interface Offer {
  readonly id: number;
  readonly tag: number;
  readonly sentAt: number;
}

/** One attempt to open a session, from the open request to RAKP 4. */
export interface Handshake {
  readonly credentials: Credentials;
  readonly suite: Suite;
  readonly transcript: Transcript;
  readonly offers: Offer[];
  /** Tags count up from here; random, for some refusals are known by their tag alone. */
  readonly firstTag: number;
  phase: 'open' | 'rakp1' | 'rakp3';
  taken: Offer | undefined;
  bmcId: number;
  rakp3: Buffer | undefined;
  sik: KeyObject | undefined;
}

export type Verdict =
  | { readonly kind: 'ignored' }
  /** It is for us and cannot be understood. */
  | { readonly kind: 'garbled' }
  /** The next packet is due. */
  | { readonly kind: 'next' }
  | { readonly kind: 'ready'; readonly seal: Seal }
  | { readonly kind: 'refused'; readonly by: 'open' | 'rakp2' | 'rakp4'; readonly status: number }
  /** It proved not to know the user's password (rakp2) or K_g (rakp4). */
  | { readonly kind: 'unproven'; readonly by: 'rakp2' | 'rakp4' };

const ignored: Verdict = { kind: 'ignored' };
const garbled: Verdict = { kind: 'garbled' };
const next: Verdict = { kind: 'next' };

/** IPMI 2.0 13.20: look the user up by name alone, whatever the privilege. */
const nameOnly = 0x10;
/** What is added to the first tag; open requests come before, one each. */
const rakpTags = { rakp1: 0x40, rakp3: 0x41 } as const;

/** `random` fills the console's random number. */
export function newHandshake(
  credentials: Credentials,
  suite: Suite,
  level: number,
  random: (target: Buffer) => void,
): Handshake {
  const transcript = newTranscript(nameOnly | level, credentials.user);
  random(parts.consoleRandom(transcript));
  const byte = Buffer.alloc(1);
  random(byte);
  const firstTag = 1 + ((byte[0] ?? 0) & 0x7f);
  const nothing = { taken: undefined, bmcId: 0, rakp3: undefined, sik: undefined };
  return { credentials, suite, transcript, offers: [], firstTag, phase: 'open', ...nothing };
}

/** Writes an open request under an id that was not used before, and returns its length. */
export function writeOffer(handshake: Handshake, packet: Buffer, id: number, now: number): number {
  const tag = handshake.firstTag + handshake.offers.length;
  handshake.offers.push({ id, tag, sentAt: now });
  return writeOpenRequest(packet, tag, id, handshake.suite);
}

/** Writes RAKP 1 or 3, whichever is due; the same bytes every time. */
export function writeRakp(handshake: Handshake, packet: Buffer): number {
  const { phase, bmcId, transcript, rakp3 } = handshake;
  if (phase === 'rakp1' || rakp3 === undefined) return writeRakp1(packet, awaitedTag(handshake), bmcId, transcript);
  return writeRakp3(packet, awaitedTag(handshake), 0, bmcId, rakp3);
}

/** Writes the RAKP 3 that makes the BMC forget a session we do not trust. */
export function writeFarewell({ bmcId, firstTag }: Handshake, packet: Buffer): number {
  return writeRakp3(packet, firstTag + rakpTags.rakp3, statuses.invalidCheckValue, bmcId, Buffer.alloc(0));
}

/** Takes a packet. What is for another id, another phase or another tag is ignored. */
export function advance(handshake: Handshake, packet: Buffer): Verdict {
  const type = packet[5];
  const id = recipientOf(packet);
  if (id === 0) return takeNameless(handshake, packet);
  if (packet.readUInt32LE(6) !== 0) return ignored;
  if (type === payloads.openResponse)
    return handshake.phase === 'open' ? takeOpenResponse(handshake, packet, id) : ignored;
  if (handshake.taken?.id !== id) return ignored;
  if (type === payloads.rakp2 && handshake.phase === 'rakp1') return takeRakp2(handshake, packet);
  if (type === payloads.rakp4 && handshake.phase === 'rakp3') return takeRakp4(handshake, packet);
  return ignored;
}

function awaitedTag({ phase, firstTag, offers }: Handshake): number {
  return phase === 'open' ? (offers.at(-1)?.tag ?? 0) : firstTag + rakpTags[phase];
}

const answers = {
  open: { type: payloads.openResponse, by: 'open' },
  rakp1: { type: payloads.rakp2, by: 'rakp2' },
  rakp3: { type: payloads.rakp4, by: 'rakp4' },
} as const;

/** Some BMCs refuse with a tag and a status alone, or do not know any more whose session it was. */
function takeNameless(handshake: Handshake, packet: Buffer): Verdict {
  const refusal = isSetupAnswer(packet) ? readRefusal(packet) : undefined;
  const { type, by } = answers[handshake.phase];
  if (refusal === undefined || packet[5] !== type || refusal.tag !== awaitedTag(handshake)) return ignored;
  return { kind: 'refused', by, status: refusal.status };
}

/** OpenBMC answers with tag 0. */
const isTagged = (answer: SetupAnswer, tag: number): boolean => answer.tag === tag || answer.tag === 0;

function takeOpenResponse(handshake: Handshake, packet: Buffer, id: number): Verdict {
  const offer = handshake.offers.find((sent) => sent.id === id);
  const answer = readOpenResponse(packet, handshake.suite);
  if (offer === undefined || (answer && !isTagged(answer, offer.tag))) return ignored;
  if (answer === undefined) return garbled;
  if (answer.status !== 0) {
    // A late refusal of an earlier request says nothing about the newer one, unless it is about the suite of both.
    const counts = offer === handshake.offers.at(-1) || refusesSuite(answer.status);
    return counts ? { kind: 'refused', by: 'open', status: answer.status } : ignored;
  }
  if (!answer.asAsked) return { kind: 'refused', by: 'open', status: statuses.noSuiteMatch };
  handshake.taken = offer;
  handshake.bmcId = answer.bmcId;
  parts.setIds(handshake.transcript, id, answer.bmcId);
  handshake.phase = 'rakp1';
  return next;
}

function takeRakp2(handshake: Handshake, packet: Buffer): Verdict {
  const { suite, transcript, credentials } = handshake;
  const answer = readRakp2(packet, suite);
  if (answer === undefined) return garbled;
  if (!isTagged(answer, awaitedTag(handshake))) return ignored;
  if (answer.status !== 0) return { kind: 'refused', by: 'rakp2', status: answer.status };
  answer.bmcRandomAndGuid.copy(parts.bmcRandomAndGuid(transcript));
  if (!timingSafeEqual(rakp2Code(suite, credentials.userKey, transcript), answer.code)) {
    return { kind: 'unproven', by: 'rakp2' };
  }
  handshake.rakp3 = rakp3Code(suite, credentials.userKey, transcript);
  handshake.sik = sessionKey(suite, credentials.generatingKey, transcript);
  handshake.phase = 'rakp3';
  return next;
}

function takeRakp4(handshake: Handshake, packet: Buffer): Verdict {
  const { suite, transcript, sik, credentials } = handshake;
  const answer = readRakp4(packet, suite);
  if (answer === undefined || sik === undefined) return garbled;
  if (!isTagged(answer, awaitedTag(handshake))) return ignored;
  if (answer.status !== 0) return { kind: 'refused', by: 'rakp4', status: answer.status };
  const proves = (key: KeyObject): boolean => timingSafeEqual(rakp4Code(suite, key, transcript), answer.code);
  if (!proves(sik)) {
    // A BMC without K_g makes its keys from the password alone, which it has proved to know.
    handshake.sik = sessionKey(suite, credentials.userKey, transcript);
    if (!credentials.hasKg || !proves(handshake.sik)) return { kind: 'unproven', by: 'rakp4' };
  }
  const seal = sealOf(handshake);
  return seal ? { kind: 'ready', seal } : garbled;
}

/** The seal of the session that RAKP 3 opens on the BMC; undefined before it is due. */
export function sealOf({ suite, sik, taken, bmcId }: Handshake): Seal | undefined {
  return sik && taken && newSeal(suite, deriveKeys(suite, sik), taken.id, bmcId);
}
