import { BerReader, decodeOid, type Oid, tags } from './message.ts';
import { numberOf, parseOid, textOf } from './values.ts';

const trapV1 = 0xa4;
const informV2 = 0xa6;
const trapV2 = 0xa7;

export interface TrapBinding {
  readonly oid: Oid;
  readonly tag: number;
  readonly content: Buffer;
}

/** A trap of either version: what it is called in version 2, with its values (RFC 3584, 3.1). */
export interface Trap {
  readonly community: string;
  readonly oid: Oid;
  readonly bindings: readonly TrapBinding[];
}

const trapName = parseOid('1.3.6.1.6.3.1.1.4.1.0');
const upTime = parseOid('1.3.6.1.2.1.1.3.0');
const genericTraps = parseOid('1.3.6.1.6.3.1.1.5');
/** The generic trap that says that the specific one counts. */
const enterpriseSpecific = 6;
const mostBindings = 64;

/** Reads a trap of version 1 or 2c; throws a RangeError where it is none. Informs are not taken: nobody answers them. */
export function readTrap(packet: Buffer): Trap {
  const message = new BerReader(packet).inside(tags.sequence);
  const version = message.integer();
  if (version !== 0 && version !== 1) throw new RangeError('it is neither of version 1 nor of 2c');
  const community = message.expect(tags.octets).toString('utf8');
  const { tag, content } = message.next();
  const body = new BerReader(content);
  if (tag === trapV1 && version === 0) return { community, ...readFirst(body) };
  if (tag === informV2) throw new RangeError('it is an inform, which has to be answered');
  if (tag !== trapV2 || version !== 1) throw new RangeError('it is no trap');
  // Number, error and its index.
  for (let i = 0; i < 3; i++) body.next();
  const bindings = readBindings(body);
  const named = bindings.find(({ oid }) => same(oid, trapName));
  if (named?.tag !== tags.oid) throw new RangeError('it does not say which trap it is');
  return {
    community,
    oid: decodeOid(named.content),
    bindings: bindings.filter(({ oid }) => !same(oid, trapName) && !same(oid, upTime)),
  };
}

function readFirst(body: BerReader): Omit<Trap, 'community'> {
  const enterprise = decodeOid(body.expect(tags.oid));
  // The address of the agent, which everybody can write there.
  body.next();
  const generic = body.integer();
  const specific = body.integer();
  body.next();
  const oid = generic === enterpriseSpecific ? [...enterprise, 0, specific >>> 0] : [...genericTraps, generic + 1];
  return { oid, bindings: readBindings(body) };
}

function readBindings(body: BerReader): TrapBinding[] {
  const list = body.inside(tags.sequence);
  const bindings: TrapBinding[] = [];
  while (!list.isAtEnd && bindings.length < mostBindings) {
    const binding = list.inside(tags.sequence);
    const oid = decodeOid(binding.expect(tags.oid));
    bindings.push({ oid, ...binding.next() });
  }
  return bindings;
}

const same = (one: Oid, other: Oid): boolean =>
  one.length === other.length && one.every((part, at) => part === other[at]);

/** A value as people read it; undefined for one that says nothing to them. */
export function shownValue({ tag, content }: TrapBinding): string | undefined {
  if (tag === tags.octets) {
    const text = content.toString('latin1');
    return /^[\x20-\x7e\r\n\t]+$/.test(text) ? textOf(content) : undefined;
  }
  if (tag === tags.oid) return decodeOid(content).join('.');
  return numberOf({ tag, content })?.toString();
}
