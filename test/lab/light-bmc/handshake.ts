import { randomBytes, randomInt } from 'node:crypto';
import { labAccounts, longestAccount } from '../addresses.ts';
import type { LightBmc } from './bmc.ts';
import { areEqual, deriveKeys, hmac, type Session, suites } from './session.ts';

/** RMCP+ status codes, IPMI 2.0 table 13-15. */
const status = {
  noSession: 0x02,
  badRole: 0x09,
  roleTooHigh: 0x0a,
  noSuchName: 0x0d,
  badIntegrity: 0x0f,
  noSuite: 0x11,
} as const;

const users = [
  { ...labAccounts.administrator, limit: 4 },
  { ...longestAccount, limit: 4 },
  { ...labAccounts.operator, limit: 3 },
  { ...labAccounts.user, limit: 2 },
].map(({ username, password, limit }) => {
  const key = Buffer.alloc(20);
  key.write(password, 'latin1');
  return { name: Buffer.from(username, 'latin1'), key, limit };
});

const sessionLimit = 16;
const idleLimit = 60_000;

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

const refusal = (tag: number, code: number, remoteId: number): Buffer =>
  Buffer.from([tag, code, 0, 0, ...number(remoteId)]);

/** The algorithm a proposal names; without one (length 0) the BMC may choose. */
const proposed = (request: Buffer, at: number): number | undefined =>
  request[at + 3] === 0 ? undefined : request[at + 4]! & 0x3f;

export function openSession(bmc: LightBmc, request: Buffer): Buffer | undefined {
  if (request.length < 32) return undefined;
  const tag = request[0]!;
  const remoteId = request.readUInt32LE(4);
  const fits = (wanted: number | undefined, offered: number): boolean => wanted === undefined || wanted === offered;
  const suite = suites.findLast(
    ({ authentication, integrity, confidentiality }) =>
      fits(proposed(request, 8), authentication) &&
      fits(proposed(request, 16), integrity) &&
      fits(proposed(request, 24), confidentiality),
  );
  if (!suite) return refusal(tag, status.noSuite, remoteId);
  makeRoom(bmc);
  const id = newId(bmc);
  bmc.sessions.set(id, {
    id,
    remoteId,
    suite,
    random: randomBytes(16),
    used: Date.now(),
    limit: 0,
    level: 0,
    expected: undefined,
    proof: undefined,
    keys: undefined,
    isOpen: false,
    sent: 0,
    highest: 0,
    seen: 0,
  });
  const algorithm = (type: number, value: number): number[] => [type, 0, 0, 8, value, 0, 0, 0];
  const level = request[1]! & 0x0f || 4;
  return Buffer.from([
    tag,
    0,
    level,
    0,
    ...number(remoteId),
    ...number(id),
    ...algorithm(0, suite.authentication),
    ...algorithm(1, suite.integrity),
    ...algorithm(2, suite.confidentiality),
  ]);
}

function newId({ sessions }: LightBmc): number {
  for (;;) {
    const id = randomInt(1, 0xffff_ffff);
    if (!sessions.has(id)) return id;
  }
}

/** Idle sessions go; when there are still too many, the one that waits longest. */
function makeRoom({ sessions }: LightBmc): void {
  const oldest = Date.now() - idleLimit;
  for (const { id, used } of sessions.values()) if (used < oldest) sessions.delete(id);
  if (sessions.size < sessionLimit) return;
  const [longest] = [...sessions.values()].sort((a, b) => a.used - b.used);
  sessions.delete(longest!.id);
}

export function rakp1(bmc: LightBmc, request: Buffer): Buffer | undefined {
  if (request.length < 28 || request.length < 28 + request[27]!) return undefined;
  const tag = request[0]!;
  const session = bmc.sessions.get(request.readUInt32LE(4));
  if (!session) return refusal(tag, status.noSession, 0);
  const refuse = (code: number): Buffer => {
    bmc.sessions.delete(session.id);
    return refusal(tag, code, session.remoteId);
  };
  const role = request[24]!;
  const wanted = role & 0x0f;
  const name = request.subarray(28, 28 + request[27]!);
  if (wanted > 4) return refuse(status.badRole);
  const user = users.find((one) => areEqual(one.name, name) && ((role & 0x10) !== 0 || one.limit === wanted));
  if (!user) return refuse(status.noSuchName);
  if (wanted > user.limit) return refuse(status.roleTooHigh);

  const { suite, random, id, remoteId } = session;
  const theirs = Buffer.from(request.subarray(8, 24));
  const roleAndName = Buffer.from([role, name.length, ...name]);
  const sessionKey = hmac(suite, user.key, theirs, random, roleAndName);
  session.limit = wanted === 0 ? user.limit : wanted;
  session.level = 2;
  session.used = Date.now();
  session.keys = deriveKeys(suite, sessionKey);
  session.expected = hmac(suite, user.key, random, number(remoteId), roleAndName);
  session.proof = hmac(suite, sessionKey, theirs, number(id), bmc.guid).subarray(0, suite.trailer);
  const code = hmac(suite, user.key, number(remoteId), number(id), theirs, random, bmc.guid, roleAndName);
  return Buffer.from([tag, 0, 0, 0, ...number(remoteId), ...random, ...bmc.guid, ...code]);
}

export function rakp3(bmc: LightBmc, request: Buffer): Buffer | undefined {
  if (request.length < 8) return undefined;
  const tag = request[0]!;
  const session = bmc.sessions.get(request.readUInt32LE(4));
  if (!session?.expected || !session.proof) return refusal(tag, status.noSession, 0);
  if (request[1] !== 0 || !shows(session, request)) {
    bmc.sessions.delete(session.id);
    return request[1] === 0 ? refusal(tag, status.badIntegrity, session.remoteId) : undefined;
  }
  session.isOpen = true;
  return Buffer.from([tag, 0, 0, 0, ...number(session.remoteId), ...session.proof]);
}

const shows = ({ expected, suite }: Session, request: Buffer): boolean =>
  areEqual(expected!, request.subarray(8, 8 + suite.mac));
