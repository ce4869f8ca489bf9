import { timingSafeEqual } from 'node:crypto';
import { BerReader, decodeResponse, encode, encodeInteger, type Response, tags, versions } from './message.ts';
import { authProtocols, digestOf, type EngineTime, keyAt, privProtocols } from './usm-keys.ts';

/** Who asks by SNMPv3, and how it is kept from others. */
export interface UsmAccess {
  readonly version: '3';
  readonly user: string;
  /** Without it anybody could have asked. */
  readonly auth?: { readonly protocol: string; readonly password: string } | undefined;
  /** Without it anybody can read along. */
  readonly priv?: { readonly protocol: string; readonly password: string } | undefined;
}

/** The agent, as its first answer has it. */
interface Engine extends EngineTime {
  readonly id: Buffer;
  /** When it said so, in seconds of a clock that never goes back. */
  readonly at: number;
}

const flags = { auth: 1, priv: 2, reportable: 4 } as const;
const usmModel = 3;
const largest = 65_507;
/** RFC 3414: what is older, or newer, is not from now. */
const window = 150;

/** Why an agent did not do what it was asked (RFC 3414, usmStats). */
export const reports = {
  unsupportedLevel: 1,
  notInTime: 2,
  unknownUser: 3,
  unknownEngine: 4,
  wrongDigest: 5,
  cannotDecrypt: 6,
} as const;
const statistics = '1.3.6.1.6.3.15.1.1.';

/** What came: an answer, or why there is none. */
export type Opened =
  | { readonly id: number; readonly response: Response }
  | { readonly id: number; readonly report: number };

const now = (): number => performance.now() / 1_000;

/** What SNMPv3 adds to a question and takes from an answer. An answer that is less protected than the question is none. */
export class UsmEnvelope {
  readonly #access: UsmAccess;
  #engine: Engine | undefined;

  constructor(access: UsmAccess) {
    this.#access = access;
  }

  get knowsEngine(): boolean {
    return this.#engine !== undefined;
  }

  /** Asks who the agent is. It answers anybody. */
  discovery(id: number): Buffer {
    const none = Buffer.alloc(0);
    const pdu = encode(tags.get, encodeInteger(id), encodeInteger(0), encodeInteger(0), encode(tags.sequence));
    const scoped = encode(tags.sequence, encode(tags.octets), encode(tags.octets), pdu);
    return message(id, flags.reportable, { id: none, boots: 0, time: 0 }, '', none, none, scoped);
  }

  seal(id: number, pdu: Buffer): Buffer {
    const { user, auth, priv } = this.#access;
    const engine = { ...this.#engine!, time: this.#timeNow() };
    const scoped = encode(tags.sequence, encode(tags.octets, engine.id), encode(tags.octets), pdu);
    const digest = auth && authProtocols[auth.protocol]!;
    const level = flags.reportable | (auth ? flags.auth : 0) | (priv ? flags.priv : 0);
    let [salt, body] = [Buffer.alloc(0), scoped];
    if (priv && digest) {
      const cipher = privProtocols[priv.protocol]!;
      const sealed = cipher.encrypt(keyAt(digest, priv.password, engine.id, cipher.keyBytes), engine, scoped);
      salt = Buffer.from(sealed.salt);
      body = encode(tags.octets, sealed.bytes);
    }
    const room = Buffer.alloc(digest?.carried ?? 0);
    const bytes = message(id, level, engine, user, room, salt, body);
    if (auth && digest) {
      // The digest stands where there are zeros now, right before the salt.
      const at = bytes.length - body.length - encode(tags.octets, salt).length - room.length;
      digestOf(digest, keyAt(digest, auth.password, engine.id), bytes).copy(bytes, at);
    }
    return bytes;
  }

  /** Throws a RangeError where it is not what the agent may have sent. */
  open(bytes: Buffer): Opened {
    const { id, level, engine, user, digest, salt, body } = parts(bytes);
    const { auth, priv } = this.#access;
    const method = auth && authProtocols[auth.protocol]!;
    const isProtected = (level & flags.auth) !== 0;
    if (isProtected) {
      if (!method || !this.#engine?.id.equals(engine.id)) throw new RangeError('it is protected by other keys');
      const key = keyAt(method, auth.password, engine.id);
      if (!equal(digest, digestOf(method, key, zeroed(bytes, digest)))) throw new RangeError('it is forged');
      this.#keepTime(engine);
    }
    const scoped = (level & flags.priv) === 0 ? body : this.#decrypt(engine, salt, body);
    const reader = new BerReader(scoped).inside(tags.sequence);
    reader.expect(tags.octets);
    reader.expect(tags.octets);
    const response = decodeResponse(reader);
    if (response.tag === tags.report) {
      if (!this.#engine || (isProtected && engine.id.equals(this.#engine.id))) this.#engine = { ...engine, at: now() };
      return { id, report: reportIn(response) };
    }
    const wanted = (auth ? flags.auth : 0) | (priv ? flags.priv : 0);
    if ((level & (flags.auth | flags.priv)) !== wanted) throw new RangeError('it is less protected than the question');
    if (user !== this.#access.user || !this.#engine?.id.equals(engine.id)) throw new RangeError('it is from another');
    return { id, response };
  }

  #timeNow(): number {
    const { time, at } = this.#engine!;
    return Math.min(0x7fff_ffff, time + Math.floor(now() - at));
  }

  /** An old message that somebody has kept is no answer. */
  #keepTime(said: EngineTime): void {
    const known = this.#engine!;
    if (known.boots === 0 && known.time === 0) this.#engine = { ...known, ...said, at: now() };
    else if (said.boots < known.boots || (said.boots === known.boots && said.time < this.#timeNow() - window))
      throw new RangeError('it is old');
    else if (said.boots > known.boots || said.time > this.#timeNow()) this.#engine = { ...known, ...said, at: now() };
  }

  #decrypt(engine: EngineTime & { readonly id: Buffer }, salt: Buffer, body: Buffer): Buffer {
    const { auth, priv } = this.#access;
    if (!auth || !priv || salt.length !== 8) throw new RangeError('it is encrypted by other keys');
    const cipher = privProtocols[priv.protocol]!;
    const key = keyAt(authProtocols[auth.protocol]!, priv.password, engine.id, cipher.keyBytes);
    try {
      return cipher.decrypt(key, engine, salt, new BerReader(body).expect(tags.octets));
    } catch (error) {
      throw new RangeError('it cannot be decrypted', { cause: error });
    }
  }
}

const message = (
  id: number,
  level: number,
  { id: engine, boots, time }: EngineTime & { readonly id: Buffer },
  user: string,
  digest: Buffer,
  salt: Buffer,
  body: Buffer,
): Buffer =>
  encode(
    tags.sequence,
    encodeInteger(versions['3']),
    encode(
      tags.sequence,
      encodeInteger(id),
      encodeInteger(largest),
      encode(tags.octets, Buffer.from([level])),
      encodeInteger(usmModel),
    ),
    encode(
      tags.octets,
      encode(
        tags.sequence,
        encode(tags.octets, engine),
        encodeInteger(boots),
        encodeInteger(time),
        encode(tags.octets, Buffer.from(user)),
        encode(tags.octets, digest),
        encode(tags.octets, salt),
      ),
    ),
    body,
  );

function parts(bytes: Buffer) {
  const whole = new BerReader(bytes).inside(tags.sequence);
  if (whole.integer() !== versions['3']) throw new RangeError('it is of another version');
  const head = whole.inside(tags.sequence);
  const id = head.integer();
  head.integer();
  const [level = 0] = head.expect(tags.octets);
  if (head.integer() !== usmModel) throw new RangeError('it has another security model');
  const security = new BerReader(whole.expect(tags.octets)).inside(tags.sequence);
  const engine = { id: security.expect(tags.octets), boots: security.integer(), time: security.integer() };
  if (engine.id.length < 5 || engine.id.length > 32 || !isCounter(engine.boots) || !isCounter(engine.time))
    throw new RangeError('it has no such engine');
  const user = security.expect(tags.octets).toString();
  return {
    id,
    level,
    engine,
    user,
    digest: security.expect(tags.octets),
    salt: security.expect(tags.octets),
    body: whole.rest(),
  };
}

/** RFC 3414, section 2.2: both end at 2^31 - 1. */
const isCounter = (value: number): boolean => value >= 0 && value <= 0x7fff_ffff;

/** The message with zeros where the digest is, which is a part of the same bytes. */
function zeroed(bytes: Buffer, digest: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const at = digest.byteOffset - bytes.byteOffset;
  copy.fill(0, at, at + digest.length);
  return copy;
}

const equal = (digest: Buffer, expected: Buffer): boolean =>
  digest.length === expected.length && timingSafeEqual(digest, expected);

function reportIn({ bindings: [first] }: Response): number {
  const name = first?.oid.join('.') ?? '';
  return name.startsWith(statistics) ? Number(name.slice(statistics.length).split('.', 1)[0]) : 0;
}
