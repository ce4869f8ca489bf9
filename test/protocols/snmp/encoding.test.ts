import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BerReader,
  decodeCommunityMessage,
  decodeInteger,
  decodeOid,
  encode,
  encodeCommunityMessage,
  encodeInteger,
  encodeOid,
  encodeRequest,
  tags,
} from '../../../src/protocols/snmp/message.ts';
import { UsmEnvelope } from '../../../src/protocols/snmp/usm.ts';
import { numberOf } from '../../../src/protocols/snmp/values.ts';

describe('the encoding', () => {
  it('brings numbers and names back', () => {
    for (const value of [0, 1, 127, 128, 255, 256, 65_536, 2_147_483_647, -1, -128, -129, -2_147_483_648])
      expect(new BerReader(encodeInteger(value)).integer()).toBe(value);
    for (const oid of [
      [1, 3, 6, 1],
      [1, 3, 128, 16_384, 4_294_967_295],
    ])
      expect(decodeOid(new BerReader(encodeOid(oid)).expect(tags.oid))).toEqual(oid);
    expect(decodeInteger(Buffer.from([0xff]))).toBe(-1);
  });

  it.each([
    ['a whole number', tags.integer, [0xff, 0x85], -123],
    ['a gauge with its highest bit set', tags.gauge, [0xff, 0xff, 0xff, 0xff], 4_294_967_295],
    ['a counter of 64 bits', tags.counter64, [0, 0, 1, 0, 0, 0, 0], 4_294_967_296],
    ['one that is too large for a number', tags.counter64, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], undefined],
    ['nothing', tags.integer, [], undefined],
    ['a text', tags.octets, [0x31], undefined],
  ])('reads %s', (_what, tag, bytes, expected) => {
    expect(numberOf({ tag, content: Buffer.from(bytes) })).toBe(expected);
  });

  it('of anything else is refused, never misread', () => {
    const pdu = encodeRequest(7, { tag: tags.response, bindings: [{ oid: [1, 3, 6] }] });
    const answers = [encodeCommunityMessage(1, 'public', pdu), new UsmEnvelope(access).discovery(7)];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), fc.constantFrom(...answers), (noise, cut, answer) => {
        const envelope = new UsmEnvelope(access);
        for (const bytes of [Buffer.from(noise), Buffer.concat([answer.subarray(0, cut), noise])]) {
          for (const read of [() => decodeCommunityMessage(bytes, 1), () => envelope.open(bytes)]) {
            try {
              read();
            } catch (error) {
              expect(error).toBeInstanceOf(RangeError);
            }
          }
        }
      }),
    );
  });
});

const access = {
  version: '3',
  user: 'admin',
  auth: { protocol: 'SHA', password: 'auth-password' },
  priv: { protocol: 'AES', password: 'priv-password' },
} as const;

/** What an agent sends: flags, and what is in it. */
function v3Message(id: number, level: number, engine: Buffer, user: string, digest: Buffer, pdu: Buffer): Buffer {
  const scoped = encode(tags.sequence, encode(tags.octets, engine), encode(tags.octets), pdu);
  const security = encode(
    tags.sequence,
    encode(tags.octets, engine),
    encodeInteger(1),
    encodeInteger(1),
    encode(tags.octets, Buffer.from(user)),
    encode(tags.octets, digest),
    encode(tags.octets),
  );
  const head = [encodeInteger(id), encodeInteger(1_500), encode(tags.octets, Buffer.from([level])), encodeInteger(3)];
  return encode(tags.sequence, encodeInteger(3), encode(tags.sequence, ...head), encode(tags.octets, security), scoped);
}

describe('an answer of SNMPv3', () => {
  const engine = Buffer.from('8000000001020304', 'hex');
  const value = encodeRequest(9, { tag: tags.response, bindings: [{ oid: [1, 3, 6] }] });
  const report = encodeRequest(9, { tag: tags.report, bindings: [{ oid: [1, 3, 6, 1, 6, 3, 15, 1, 1, 4, 0] }] });
  const known = (): UsmEnvelope => {
    const envelope = new UsmEnvelope(access);
    envelope.open(v3Message(9, 0, engine, '', Buffer.alloc(0), report));
    return envelope;
  };

  it.each([
    ['without a digest where one was asked for', 0, engine, 'admin', Buffer.alloc(0), 'less protected'],
    ['with a digest of zeros', 1, engine, 'admin', Buffer.alloc(12), 'forged'],
    ['with a digest of no length', 1, engine, 'admin', Buffer.alloc(0), 'forged'],
    ['of another engine', 1, Buffer.from('8000000009090909', 'hex'), 'admin', Buffer.alloc(12), 'other keys'],
    ['that says it is encrypted and is not', 2, engine, 'admin', Buffer.alloc(0), 'other keys'],
  ])('%s is none', (_what, level, from, user, digest, why) => {
    expect(() => known().open(v3Message(9, level, from, user, digest, value))).toThrow(why);
  });
});
