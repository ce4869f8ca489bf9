import { createDecipheriv, createHmac, createSecretKey, randomFillSync } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deriveKeys } from '../../../src/protocols/ipmi/setup-packets.ts';
import {
  following,
  inWindow,
  messageOffset,
  newSeal,
  newWindow,
  openMessage,
  type Seal,
  sealMessage,
  take,
} from '../../../src/protocols/ipmi/session.ts';
import { suites } from '../../../src/protocols/ipmi/link.ts';

const console1 = 0x11223344;
const bmc = 0x55667788;

function pair(id: 17 | 3): { out: Seal; back: Seal } {
  const suite = suites[id];
  const keys = deriveKeys(suite, createSecretKey(Buffer.alloc(suite.macLength, 0x42)));
  return { out: newSeal(suite, keys, console1, bmc), back: newSeal(suite, keys, bmc, console1) };
}

function packetOf(seal: Seal, message: Uint8Array): Buffer {
  const packet = Buffer.alloc(1024, 0xee);
  randomFillSync(packet, messageOffset - 16, 16);
  packet.set(message, messageOffset);
  return Buffer.from(packet.subarray(0, sealMessage(seal, packet, messageOffset + message.length)));
}

describe.each([17, 3] as const)('suite %i', (id) => {
  test('what is sealed is opened on the other side, in any number and length', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 10 }), (messages) => {
        const { out, back } = pair(id);
        for (const message of messages) expect(openMessage(back, packetOf(out, message))).toEqual(Buffer.from(message));
      }),
      { numRuns: 100 },
    );
  });

  test('a packet is what the standard says, taken apart with a cipher of its own', () => {
    const { out } = pair(id);
    const { hash, tagLength } = out.suite;
    packetOf(out, Buffer.from('first'));
    const packet = packetOf(out, Buffer.from('hello'));
    const covered = packet.length - tagLength;
    const length = packet.readUInt16LE(14);
    const code = createHmac(hash, out.keys.integrity).update(packet.subarray(4, covered)).digest();
    expect(packet.subarray(covered)).toEqual(code.subarray(0, tagLength));
    expect((covered - 4) % 4).toBe(0);
    expect(packet.readUInt32LE(10)).toBe(2);
    const decipher = createDecipheriv('aes-128-cbc', out.keys.confidentiality, packet.subarray(16, 32));
    const plain = decipher.setAutoPadding(false).update(packet.subarray(32, 16 + length));
    expect(plain.toString('hex')).toBe(`${Buffer.from('hello').toString('hex')}0102030405060708090a0a`);
  });

  test('equal messages never look alike', () => {
    const { out } = pair(id);
    const seen = new Set(Array.from({ length: 100 }, () => packetOf(out, Buffer.from('same')).toString('hex', 16, 48)));
    expect(seen.size).toBe(100);
  });

  test('a packet that was altered anywhere is not opened, and does not use up its number', () => {
    const { out, back } = pair(id);
    const packet = packetOf(out, Buffer.from('power'));
    // The first four bytes are the RMCP header, which no code covers.
    for (let at = 4; at < packet.length; at++) {
      for (const bit of [0x01, 0x80]) {
        const altered = Buffer.from(packet);
        altered[at]! ^= bit;
        expect(openMessage(back, altered)).toBeUndefined();
      }
    }
    for (let end = 0; end < packet.length; end++) expect(openMessage(back, packet.subarray(0, end))).toBeUndefined();
    expect(openMessage(back, Buffer.concat([packet, Buffer.of(0)]))).toBeUndefined();
    expect(openMessage(back, packet)?.toString()).toBe('power');
  });

  test('a packet is opened once', () => {
    const { out, back } = pair(id);
    const packet = packetOf(out, Buffer.from('power'));
    expect(openMessage(back, packet)).toBeDefined();
    expect(openMessage(back, packet)).toBeUndefined();
  });

  test('a genuine packet of the same keys for another session id is not opened', () => {
    const { out, back } = pair(id);
    const other = newSeal(back.suite, back.keys, bmc + 1, console1);
    expect(openMessage(other, packetOf(out, Buffer.from('x')))).toBeUndefined();
  });

  test('a packet that is authenticated but says it is not encrypted is not opened', () => {
    const { out, back } = pair(id);
    const packet = packetOf(out, Buffer.from('x'));
    packet[5] = 0x40;
    const covered = packet.length - out.suite.tagLength;
    createHmac(out.suite.hash, out.keys.integrity)
      .update(packet.subarray(4, covered))
      .digest()
      .copy(packet, covered, 0, out.suite.tagLength);
    expect(openMessage(back, packet)).toBeUndefined();
  });
});

test.each([
  ['the first, whatever it is', [], 1000, true],
  ['zero never', [], 0, false],
  ['the next', [5], 6, true],
  ['the same again', [5], 5, false],
  ['15 ahead', [100], 115, true],
  ['16 ahead', [100], 116, false],
  ['16 behind', [100], 84, true],
  ['17 behind', [100], 83, false],
  ['one that was left out', [100, 103], 102, true],
  ['one that came late already', [100, 103, 102], 102, false],
  ['one behind a jump', [100, 115], 100, false],
  ['after the wrap', [0xffffffff], 1, true],
  ['before the wrap', [0xffffffff, 1], 0xfffffffe, true],
])('window: %s', (_name, before, sequence, expected) => {
  const window = newWindow();
  for (const one of before) take(window, one);
  expect(inWindow(window, sequence)).toBe(expected);
});

test('a window takes every number at most once, whatever the order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60 })), (numbers) => {
      const window = newWindow();
      const taken = numbers.filter((number) => {
        const fits = inWindow(window, number);
        if (fits) take(window, number);
        return fits;
      });
      expect(new Set(taken).size).toBe(taken.length);
    }),
  );
});

test('numbers of packets go round past zero', () => {
  expect([following(0), following(1), following(0xfffffffe), following(0xffffffff)]).toEqual([1, 2, 0xffffffff, 1]);
});
