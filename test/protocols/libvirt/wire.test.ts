import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { LibvirtConnection } from '../../../src/protocols/libvirt/connection.ts';
import { LibvirtFault } from '../../../src/protocols/libvirt/faults.ts';
import {
  encodeMessage,
  Framer,
  readParameters,
  writeTexts,
  XdrReader,
  XdrWriter,
} from '../../../src/protocols/libvirt/wire.ts';
import { captured } from './captured.ts';
import { converse } from './conversation.ts';

/** A daemon that says what it has said then, `size` bytes at a time. */
function replay(sent: string[], size: number): Duplex {
  const stream: Duplex = new Duplex({
    read: () => undefined,
    write(bytes: Buffer, _encoding, done) {
      const reply = Buffer.from(captured[sent.length]?.[1] ?? '', 'hex');
      sent.push(bytes.toString('hex'));
      done();
      for (let at = 0; at < reply.length; at += size) stream.push(reply.subarray(at, at + size));
    },
  });
  return stream;
}

const test1 = { name: 'test', uuid: '6695eb01-f6a4-8304-79aa-97f2502e193f' };

test.each([1, 3, 64, 100_000])(
  'says what was said to libvirt 9, and reads its answers %d bytes at a time',
  async (size) => {
    const sent: string[] = [];
    const connection = new LibvirtConnection(replay(sent, size), { where: 'lab' });
    const heard = await converse(connection);
    connection.close();
    expect(sent).toEqual(captured.map(([bytes]) => bytes));
    expect(heard).toMatchObject({
      domain: test1,
      found: test1,
      byUuid: test1,
      absent: undefined,
      state: { state: 1, reason: 0 },
      events: [
        { domain: test1, event: 5, detail: 1 },
        { domain: test1, event: 2, detail: 0 },
      ],
      pool: { name: 'default-pool', uuid: 'dfe224cb-28fb-8dd0-c4b2-64eb3f0f4566' },
      volume: { pool: 'default-pool', name: 'v1', key: '/default-pool/v1' },
      path: '/default-pool/v1',
      gone: undefined,
    });
    expect(heard.room).toEqual({ capacity: 107_374_182_400n, free: 107_374_182_400n });
    expect(heard.shape).toContain("<pool type='dir'>");
    expect(heard.xml).toContain('<uuid>6695eb01-f6a4-8304-79aa-97f2502e193f</uuid>');
    expect(heard.stats.map(({ domain, values }) => [domain, [...values]])).toEqual([
      [
        test1,
        [
          ['state.state', 1],
          ['state.reason', 0],
        ],
      ],
    ]);
    expect(heard.refusal).toMatchObject({
      code: 55,
      failure: 'refused',
      message: 'libvirt on lab says: Requested operation is not valid: domain is not running.',
    });
  },
);

const bytesOf = (write: (body: XdrWriter) => unknown): string => {
  const body = new XdrWriter();
  write(body);
  return body.bytes().toString('hex');
};

test.each([
  ['a negative number', (body: XdrWriter) => body.int(-1), 'ffffffff'],
  ['a large number', (body: XdrWriter) => body.uint(0xffff_ffff), 'ffffffff'],
  ['a number of 64 bits', (body: XdrWriter) => body.uhyper(1n << 40n), '0000010000000000'],
  ['a text that fills its words', (body: XdrWriter) => body.string('abcd'), '0000000461626364'],
  ['a text that does not', (body: XdrWriter) => body.string('ä'), '00000002c3a40000'],
  ['an empty text', (body: XdrWriter) => body.string(''), '00000000'],
  ['nothing', (body: XdrWriter) => body.optional(undefined, () => undefined), '00000000'],
  ['something', (body: XdrWriter) => body.optional(7, (value) => body.int(value)), '0000000100000007'],
  ['a list', (body: XdrWriter) => body.list([1, 2], (value) => body.int(value)), '000000020000000100000002'],
])('%s is written as XDR', (_name, write, hex) => {
  expect(bytesOf(write)).toBe(hex);
});

const reader = (words: string): XdrReader => new XdrReader(Buffer.from(words.replaceAll(' ', ''), 'hex'));

test('values of every type are read', () => {
  const words = [
    '00000007',
    '00000001 61000000 00000001 ffffffff',
    '00000001 62000000 00000002 ffffffff',
    '00000001 63000000 00000003 ffffffff ffffffff',
    '00000001 64000000 00000004 ffffffff ffffffff',
    '00000001 65000000 00000005 3ff80000 00000000',
    '00000001 66000000 00000006 00000001',
    '00000001 67000000 00000007 00000002 68690000',
  ].join('');
  expect([...readParameters(reader(words))]).toEqual([
    ['a', -1],
    ['b', 0xffff_ffff],
    ['c', -1n],
    ['d', 0xffff_ffff_ffff_ffffn],
    ['e', 1.5],
    ['f', true],
    ['g', 'hi'],
  ]);
});

test.each([
  ['a word that is not there', () => reader('0000').int(), 'it ends too early'],
  ['a text that is not there', () => reader('00000008').string(), 'it ends too early'],
  ['a text without its filling', () => reader('0000000161').string(), 'it ends too early'],
  ['a text over the limit', () => reader('00400001').string(), 'a string of 4194305 bytes'],
  ['a list of more than there is', () => reader('00004000').list(16_384, () => 0), 'a list of 16384'],
  ['a list over the limit', () => reader('0000000300000000').list(2, () => 0), 'a list of 3'],
  ['neither yes nor no', () => reader('00000002').bool(), '2 where yes or no belongs'],
  [
    'a value of an unknown type',
    () => readParameters(reader('00000001 00000001 61000000 00000008')),
    'a value of type 8',
  ],
  [
    'a message shorter than its header',
    () => [...new Framer().add(Buffer.from('0000001b', 'hex'))],
    'a message of 27 bytes',
  ],
  [
    'a message over the limit',
    () => [...new Framer().add(Buffer.from('02000005', 'hex'))],
    'a message of 33554437 bytes',
  ],
])('%s cannot be read', (_name, read, what) => {
  expect(read).toThrow(new LibvirtFault('garbled', `what libvirt sent cannot be read: ${what}.`));
});

test('another version of the protocol is not guessed at', () => {
  const bytes = encodeMessage({ program: 1, procedure: 1, type: 1, serial: 1, status: 0 });
  bytes.writeUInt32BE(2, 8);
  expect(() => [...new Framer().add(bytes)]).toThrow('version 2 of its protocol');
});

test.each([
  ['a zero byte, where libvirt would stop reading', 'a\0b', 'a text with a zero byte cannot be sent to libvirt.'],
  ['more than libvirt reads', 'x'.repeat(4 * 1024 * 1024 + 1), 'a text of 4194305 bytes is too long for libvirt'],
])('a text with %s is not sent', (_name, text, sentence) => {
  expect(() => new XdrWriter().string(text)).toThrow(sentence);
});

test('data of any length is told with its length, and padded to whole words', () => {
  for (const length of [0, 1, 3, 4, 5]) {
    const data = Buffer.alloc(length, 7);
    const bytes = new XdrWriter().data(data).uint(1).bytes();
    expect(bytes.length).toBe(8 + Math.ceil(length / 4) * 4);
    const read = new XdrReader(bytes);
    expect([read.data(5), read.uint()]).toEqual([data, 1]);
  }
  expect(() => new XdrReader(new XdrWriter().data(Buffer.alloc(6)).bytes()).data(5)).toThrow(LibvirtFault);
  expect(() => new XdrReader(new XdrWriter().uint(4).bytes()).data(5)).toThrow(LibvirtFault);
});

test('one name may have several texts among parameters', () => {
  const texts = [
    ['migrate_disks', 'vda'],
    ['migrate_disks', 'vdb'],
  ] as const;
  const written = writeTexts(new XdrWriter(), texts).bytes();
  expect(written.readUInt32BE(0)).toBe(2);
  expect(readParameters(new XdrReader(written))).toEqual(new Map([['migrate_disks', 'vdb']]));
});
