import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventOfTrap } from '../../../src/nodes/hardware-events/trap-text.ts';
import { encode, encodeInteger, encodeOid, tags } from '../../../src/protocols/snmp/message.ts';
import { readTrap } from '../../../src/protocols/snmp/trap.ts';
import { octetsValue, parseOid } from '../../../src/protocols/snmp/values.ts';

const binding = (oid: string, value: Buffer): Buffer => encode(tags.sequence, encodeOid(parseOid(oid)), value);
const trapOid = (oid: string): Buffer => binding('1.3.6.1.6.3.1.1.4.1.0', encodeOid(parseOid(oid)));

const second = (bindings: readonly Buffer[], version = 1, pdu = 0xa7): Buffer =>
  encode(
    tags.sequence,
    encodeInteger(version),
    octetsValue('public'),
    encode(pdu, encodeInteger(1), encodeInteger(0), encodeInteger(0), encode(tags.sequence, ...bindings)),
  );

const first = (enterprise: string, generic: number, specific: number, bindings: readonly Buffer[] = []): Buffer =>
  encode(
    tags.sequence,
    encodeInteger(0),
    octetsValue('public'),
    encode(
      0xa4,
      encodeOid(parseOid(enterprise)),
      encode(0x40, Buffer.from([10, 0, 0, 1])),
      encodeInteger(generic),
      encodeInteger(specific),
      encode(tags.ticks, Buffer.from([1])),
      encode(tags.sequence, ...bindings),
    ),
  );

const petData = (severity: number): Buffer => {
  const data = Buffer.alloc(47);
  data[26] = severity;
  data[28] = 0x30;
  return encode(tags.octets, data);
};
const pet = '1.3.6.1.4.1.3183.1.1';

describe('a trap', () => {
  it.each([
    ['of version 1 that is generic', first('1.3.6.1.4.1.9', 3, 0), 'ok', /^A link has come up/],
    [
      'of a vendor',
      second([trapOid('1.3.6.1.4.1.674.1'), binding('1.3.6.1.4.1.674.2', octetsValue('PSU 2 failed\nnow'))]),
      'critical',
      /^SNMP trap 1\.3\.6\.1\.4\.1\.674\.1: PSU 2 failed now$/,
    ],
    ['without values', second([trapOid('1.3.6.1.4.1.674.1')]), 'ok', /no text$/],
    [
      'of a platform event',
      first(pet, 6, 0x040100 | 2, [binding(`${pet}.1`, petData(0x10))]),
      'critical',
      /^Fan: .*\(sensor 48\)$/,
    ],
    [
      'that is not critical',
      second([trapOid(`${pet}.0.262402`), binding(`${pet}.1`, petData(8))]),
      'warning',
      /^Fan: /,
    ],
    ['that it is over', first(pet, 6, 0x040180, [binding(`${pet}.1`, petData(0x10))]), 'ok', /Recovered/],
    ['of a platform event cut short', first(pet, 6, 0x040102, [binding(`${pet}.1`, octetsValue('x'))]), 'ok', /^Fan: /],
  ] as const)('%s', (_, packet, severity, message) => {
    expect(eventOfTrap(readTrap(packet))).toEqual({ severity, message: expect.stringMatching(message) });
  });

  it.each([
    ['an inform, which has to be answered', second([trapOid('1.3.6')], 1, 0xa6)],
    ['a request', second([], 1, 0xa0)],
    ['of version 3', second([trapOid('1.3.6')], 3)],
    ['one without a name', second([])],
  ])('is not %s', (_, packet) => expect(() => readTrap(packet)).toThrow(RangeError));

  it('of any bytes throws nothing but that it is none', () => {
    const whole = second([trapOid('1.3.6.1.4.1.674.1'), binding('1.3.6.1', octetsValue('text'))]);
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), (at, byte, length) => {
        const packet = Buffer.from(whole.subarray(0, length));
        if (at < packet.length) packet[at] = byte;
        try {
          eventOfTrap(readTrap(packet));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});
