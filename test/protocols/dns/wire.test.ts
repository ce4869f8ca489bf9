import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSoa, recordTexts } from '../../../src/protocols/dns/client.ts';
import { DnsFault, isHostName, nameBytes, readName } from '../../../src/protocols/dns/names.ts';
import { readMessage } from '../../../src/protocols/dns/message.ts';
import { sign, type TsigKey, verify } from '../../../src/protocols/dns/tsig.ts';
import { queryMessage, requirementMessage, updateMessage } from '../../../src/protocols/dns/update.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

describe('names', () => {
  it.each([
    ['n1.cluster.test', true],
    ['1', true],
    [`${'a'.repeat(63)}.test`, true],
    [`${'a'.repeat(64)}.test`, false],
    [Array.from({ length: 127 }, () => 'a').join('.'), true],
    [Array.from({ length: 128 }, () => 'a').join('.'), false],
    ['', false],
    ['a..b', false],
    ['.a', false],
    ['a.', false],
    ['-a', false],
    ['a-', false],
    ['a_b', false],
    ['A', false],
    ['a\nb', false],
    ['*.test', false],
    ['a b', false],
    ['ä', false],
  ])('%j as a host: %s', (name, expected) => expect(isHostName(name)).toBe(expected));

  it.each([
    ['n1.test', '02 6e31 04 74657374 00'],
    ['N1.Test.', '02 6e31 04 74657374 00'],
    ['.', '00'],
    ['', '00'],
  ])('%j is written as %s', (name, bytes) => expect(nameBytes(name)).toEqual(hex(bytes)));

  it.each(['a..b', '.a', `${'x'.repeat(64)}.y`])('%j cannot be written', (name) =>
    expect(() => nameBytes(name)).toThrow('is not a domain name'),
  );

  it.each([
    ['a pointer', '04 74657374 00 02 6e31 c000', 6, 'n1.test', 11],
    ['a pointer to a pointer', '00 01 61 c000 01 62 c001', 5, 'b.a', 9],
    ['bytes that are not text', '03 61 2e 0a 00', 0, 'a\\046\\010', 5],
  ])('%s is read', (_what, bytes, at, name, next) => expect(readName(hex(bytes), at)).toEqual({ name, next }));

  it.each([
    ['cut off', '05 61'],
    ['without an end', '01 61'],
    ['that points to itself', 'c000'],
    ['that points forwards', 'c002 00'],
    ['that goes round', '01 61 c000'],
    ['with a reserved label', '40 61 00'],
    ['with half a pointer', 'c0'],
    ['that is too long', `${`3f ${'61'.repeat(63)}`.repeat(4)} 01 61 00`],
  ])('one %s is refused', (_what, bytes) => expect(() => readName(hex(bytes), 0)).toThrow(DnsFault));

  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
  it('come back as they were written', () => {
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 9 }), (labels) => {
        const name = labels.join('.');
        fc.pre(name.length <= 253);
        expect(readName(nameBytes(name), 0)).toEqual({ name, next: name.length + 2 });
      }),
    );
  });
});

describe('an update', () => {
  it('has the form of RFC 2136: zone, then additions with class IN and removals with class NONE', () => {
    const operations = [
      { remove: false, name: 'n1.test', type: 'A', data: '10.0.0.1' },
      { remove: true, name: 'n1.test', type: 'AAAA', data: 'fd00::1' },
      { remove: true, name: '1.0.0.10.in-addr.arpa', type: 'PTR', data: 'n1.test' },
      { remove: false, name: 'test', type: 'CNAME', data: 'x' },
    ] as const;
    const { message, taken } = updateMessage('test', operations, 0, 500, 3600);
    expect(taken).toBe(4);
    expect(message).toEqual(
      hex(`0000 2800 0001 0000 0004 0000
        04 74657374 00 0006 0001
        02 6e31 c00c 0001 0001 00000e10 0004 0a000001
        02 6e31 c00c 001c 00fe 00000000 0010 fd000000000000000000000000000001
        01 31 01 30 01 30 02 3130 07 696e2d61646472 04 61727061 00 000c 00fe 00000000 0009 02 6e31 04 74657374 00
        c00c 0005 0001 00000e10 0003 01 78 00`),
    );
  });

  it('has what it requires before the changes: no alias, no records at all, or exactly one alias', () => {
    const operations = [
      { remove: false, name: 'n1.test', type: 'A', data: '10.0.0.1', requires: 'no-alias' },
      { remove: true, name: 'n2.test', type: 'A', data: '10.0.0.2' },
      { remove: false, name: 'x.test', type: 'CNAME', data: 'n1.test', requires: 'unused' },
      { remove: false, name: 'y.test', type: 'CNAME', data: 'n1.test', requires: { alias: 'n2.test' } },
    ] as const;
    const y = '01 79 c00c 0005 0001 00000000 0009 02 6e32 04 74657374 00';
    expect(updateMessage('test', operations, 0, 500, 3600).message).toEqual(
      hex(`0000 2800 0001 0003 0004 0000
        04 74657374 00 0006 0001
        02 6e31 c00c 0005 00fe 00000000 0000
        01 78 c00c 00ff 00fe 00000000 0000
        ${y}
        02 6e31 c00c 0001 0001 00000e10 0004 0a000001
        02 6e32 c00c 0001 00fe 00000000 0004 0a000002
        01 78 c00c 0005 0001 00000e10 0009 02 6e31 04 74657374 00
        01 79 c00c 0005 0001 00000e10 0009 02 6e31 04 74657374 00`),
    );
    expect(requirementMessage('test', 'y.test', { alias: 'n2.test' })).toEqual(
      hex(`0000 2800 0001 0001 0000 0000 04 74657374 00 0006 0001 ${y}`),
    );
  });

  it('requires an alias once, however many records come in its place', () => {
    const operations = ['10.0.0.1', '10.0.0.2'].map(
      (data) => ({ remove: false, name: 'y.test', type: 'A', data, requires: { alias: 'n2.test' } }) as const,
    );
    const { message } = updateMessage('test', operations, 0, 500, 3600);
    expect([message.readUInt16BE(6), message.readUInt16BE(8)]).toEqual([1, 2]);
  });

  it('takes no more than fits into a message', () => {
    const name = (i: number): string => `${String(i).padStart(60, 'x')}.${'y'.repeat(60)}.test`;
    const operations = Array.from({ length: 900 }, (_, i) => ({
      remove: false,
      name: name(i),
      type: 'CNAME' as const,
      data: name(i + 1),
      requires: i % 2 ? ('unused' as const) : { alias: name(i + 2) },
    }));
    let taken = 0;
    while (taken < operations.length) {
      const batch = updateMessage('test', operations, taken, 10_000, 60);
      expect(batch.message.length).toBeLessThan(65_535 - 400);
      expect(readMessage(batch.message).authority).toHaveLength(batch.taken);
      taken += batch.taken;
    }
    expect(taken).toBe(900);
  });

  it('refuses data that is none', () => {
    const bad = [{ remove: false, name: 'a.test', type: 'A' as const, data: 'fd00::1' }];
    expect(() => updateMessage('test', bad, 0, 1, 60)).toThrow('is not the data of an A record');
  });
});

const key: TsigKey = { name: 'muster', algorithm: 'hmac-sha256', secret: Buffer.from('0123456789abcdef') };
const now = 1_800_000_000;

/** What a server that has the key would answer. */
function answerTo(request: Buffer, mac: Buffer, code = 0, signer = key, at = now): Buffer {
  const answer = Buffer.from(request.subarray(0, 12));
  answer.writeUInt16BE(0xa800 | code, 2);
  for (const place of [4, 6, 8, 10]) answer.writeUInt16BE(0, place);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(mac.length);
  const { bytes } = sign(answer, signer, at, Buffer.concat([length, mac]));
  return bytes;
}

describe('a signature', () => {
  const { message } = updateMessage('test', [{ remove: false, name: 'a.test', type: 'A', data: '10.0.0.1' }], 0, 1, 60);
  const request = sign(message, key, now);
  const checked = (answer: Buffer, at = now): void => verify(answer, readMessage(answer), key, request.mac, at);

  it('is that of RFC 8945', () => {
    // Computed by another program: the HMAC of message, key name, class ANY, ttl 0, algorithm, time, fudge 300, error 0 and no other data.
    expect(request.mac.toString('hex')).toBe('528f33aad4bf2f90878a3ea442f5a4c6e4051ce3b4ddd0c13c7a0a52d835394b');
  });

  it('of the server is accepted', () => {
    expect(() => checked(answerTo(request.bytes, request.mac))).not.toThrow();
  });

  it.each([
    ['to another request', () => answerTo(request.bytes, Buffer.alloc(32)), /signature of the answer is wrong/],
    [
      'with another secret',
      () => answerTo(request.bytes, request.mac, 0, { ...key, secret: Buffer.from('x') }),
      /wrong/,
    ],
    ['with another key', () => answerTo(request.bytes, request.mac, 0, { ...key, name: 'other' }), /another key/],
    [
      'with another algorithm',
      () => answerTo(request.bytes, request.mac, 0, { ...key, algorithm: 'hmac-md5' }),
      /another/,
    ],
    ['of another time', () => answerTo(request.bytes, request.mac, 0, key, now + 400), /another time/],
    ['not at all', () => Buffer.concat([request.bytes.subarray(0, 2), hex('a800 0000 0000 0000 0000')]), /not signed/],
  ])('given %s is refused', (_what, make, message_) => expect(() => checked(make())).toThrow(message_));

  it('protects every byte of the answer', () => {
    const answer = answerTo(request.bytes, request.mac);
    for (let at = 0; at < answer.length; at++) {
      const changed = Buffer.from(answer);
      changed[at]! ^= 1;
      let parsed;
      try {
        parsed = readMessage(changed);
      } catch (error) {
        expect(error).toBeInstanceOf(DnsFault);
        continue;
      }
      // The id in the header is not covered, but an answer with another id is nobody's. A key name differs by case only.
      if (at < 2) continue;
      expect(() => verify(changed, parsed, key, request.mac, now), `byte ${at}`).toThrow(DnsFault);
    }
  });

  it('with an error of its own says which', () => {
    const refusal = Buffer.concat([
      request.bytes.subarray(0, 2),
      hex('a809 0000 0000 0000 0001'),
      nameBytes('muster'),
      hex('00fa 00ff 00000000 001d'),
      nameBytes('hmac-sha256'),
      hex('000000000000 012c 0000 0000 0011 0000'),
    ]);
    expect(() => checked(refusal)).toThrow(/BADKEY/);
  });
});

describe('whatever comes from the network', () => {
  const request = queryMessage('cluster.test', 6);
  const signed = answerTo(request, Buffer.alloc(32, 7));
  const soa = Buffer.concat([
    hex('0001 8400 0001 0001 0000 0000'),
    nameBytes('cluster.test'),
    hex('0006 0001 c00c 0006 0001 00000e10 001c 01 6d c00c 01 72 c00c 78c0a3d7 00002a30 00000e10 00093a80 00015180'),
  ]);

  it('a start of authority is read', () => {
    expect(readSoa(soa, readMessage(soa))).toEqual({ zone: 'cluster.test', serial: 0x78c0a3d7 });
  });

  const records = Buffer.concat([
    hex('0001 8400 0001 0006 0000 0000'),
    nameBytes('x.test'),
    hex(`00ff 0001
      c00c 0001 0001 0000003c 0004 0a000001
      c00c 0001 0001 0000003c 0003 0a0000
      c00c 001c 0001 0000003c 0010 fd000000000000000000000000000001
      c00c 0010 0001 0000003c 0003 02 6869
      c00c 0005 0001 0000003c 0005 02 4e31 c00e
      c00e 0001 0001 0000003c 0004 0a000002`),
  ]);

  it('the records of a name are read', () => {
    expect(recordTexts(records, readMessage(records), 'x.test')).toEqual([
      'A 10.0.0.1',
      'A',
      'AAAA fd00::1',
      'TXT',
      'CNAME n1.test',
    ]);
  });

  const use = (bytes: Buffer): void => {
    try {
      const message = readMessage(bytes);
      recordTexts(bytes, message, 'x.test');
      readSoa(bytes, message);
      verify(bytes, message, key, Buffer.alloc(32, 7), now);
    } catch (error) {
      if (!(error instanceof DnsFault)) throw error;
    }
  };

  it('is read or refused: random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        expect(use(Buffer.from(bytes))).toBeUndefined();
      }),
      { numRuns: 3_000 },
    );
  });

  it('is read or refused: messages with changes', () => {
    const change = fc.tuple(fc.nat(200), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(
        fc.constantFrom(signed, soa, records),
        fc.array(change, { maxLength: 6 }),
        fc.nat(200),
        (base, changes, cut) => {
          const bytes = Buffer.from(base);
          for (const [at, value] of changes) bytes[at % bytes.length] = value;
          expect(use(bytes.subarray(0, cut < 20 ? cut * 4 : bytes.length))).toBeUndefined();
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it('ends soon, also with 65,535 records announced', () => {
    const bytes = Buffer.concat([hex('0001 8400 ffff ffff ffff ffff'), Buffer.alloc(65_000)]);
    expect(() => readMessage(bytes)).toThrow(DnsFault);
  });
});
