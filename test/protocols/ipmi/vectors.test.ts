import { createSecretKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readPong, recipientOf, writePing } from '../../../src/protocols/ipmi/header.ts';
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
  sessionKey,
  type Transcript,
  writeOpenRequest,
  writeRakp1,
  writeRakp3,
} from '../../../src/protocols/ipmi/setup-packets.ts';
import { newSeal, openMessage, readResponse, writeRequest } from '../../../src/protocols/ipmi/session.ts';
import { suites } from '../../../src/protocols/ipmi/link.ts';
import { captured, withKg } from './captured.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const password = createSecretKey(Buffer.from('secret'));
const written = (write: (packet: Buffer) => number): string => {
  const packet = Buffer.alloc(1024, 0xee);
  return packet.toString('hex', 0, write(packet));
};
const secretHex = (key: { export(): Buffer }): string => key.export().toString('hex');

function transcriptOf(id: 17 | 3): Transcript {
  const session = captured[id];
  const transcript = newTranscript(0x14, Buffer.from('admin'));
  parts.setIds(transcript, session.consoleId, session.bmcId);
  bytes(session.rakp1).copy(parts.consoleRandom(transcript), 0, 24, 40);
  bytes(session.rakp2).copy(parts.bmcRandomAndGuid(transcript), 0, 24, 56);
  return transcript;
}

describe.each([17, 3] as const)('a captured session of suite %i', (id) => {
  const session = captured[id];
  const suite = suites[id];

  test('the packets of the set-up are written as ipmitool writes them', () => {
    const transcript = transcriptOf(id);
    const code = rakp3Code(suite, password, transcript);
    expect(written((packet) => writeOpenRequest(packet, 0, session.consoleId, suite))).toBe(session.openRequest);
    expect(written((packet) => writeRakp1(packet, 0, session.bmcId, transcript))).toBe(session.rakp1);
    expect(written((packet) => writeRakp3(packet, 0, 0, session.bmcId, code))).toBe(session.rakp3);
  });

  test('the answers of the set-up are read', () => {
    const transcript = transcriptOf(id);
    const opened = readOpenResponse(bytes(session.openResponse), suite);
    const rakp2 = readRakp2(bytes(session.rakp2), suite);
    expect(opened).toMatchObject({ status: 0, bmcId: session.bmcId, asAsked: true });
    expect(rakp2?.code.equals(rakp2Code(suite, password, transcript))).toBe(true);
    const sik = sessionKey(suite, password, transcript);
    expect(readRakp4(bytes(session.rakp4), suite)?.code.equals(rakp4Code(suite, sik, transcript))).toBe(true);
  });

  test.each(['openResponse', 'rakp2', 'rakp4'] as const)('%s is known to be for us', (name) => {
    expect(recipientOf(bytes(session[name]))).toBe(session.consoleId);
  });

  test('an open response with the algorithms of the other suite is not as asked', () => {
    const other = suites[id === 17 ? 3 : 17];
    expect(readOpenResponse(bytes(session.openResponse), other)?.asAsked).toBe(false);
  });

  test('the keys are those that ipmitool derives', () => {
    const sik = sessionKey(suite, password, transcriptOf(id));
    const { integrity, confidentiality } = deriveKeys(suite, sik);
    expect(secretHex(sik)).toBe(session.sik);
    expect(secretHex(integrity)).toBe(session.k1);
    expect(secretHex(confidentiality)).toBe(session.k2.slice(0, 32));
  });

  test('messages of both directions are opened', () => {
    const keys = deriveKeys(suite, createSecretKey(bytes(session.sik)));
    const fromBmc = newSeal(suite, keys, session.consoleId, session.bmcId);
    const fromConsole = newSeal(suite, keys, session.bmcId, session.consoleId);
    for (const [packet, message] of Object.entries(session.toConsole)) {
      expect(openMessage(fromBmc, bytes(packet))?.toString('hex')).toBe(message);
    }
    for (const [packet, message] of Object.entries(session.toBmc)) {
      expect(openMessage(fromConsole, bytes(packet))?.toString('hex')).toBe(message);
    }
  });
});

test.each([17, 3] as const)('codes and keys with K_g in suite %i', (id) => {
  const suite = suites[id];
  const expected = withKg[id];
  const transcript = transcriptOf(17);
  const sik = sessionKey(suite, createSecretKey(bytes(withKg.kg)), transcript);
  const { integrity, confidentiality } = deriveKeys(suite, sik);
  expect({
    rakp2: rakp2Code(suite, password, transcript).toString('hex'),
    rakp3: rakp3Code(suite, password, transcript).toString('hex'),
    sik: secretHex(sik),
    k1: secretHex(integrity),
    k2: secretHex(confidentiality),
    rakp4: rakp4Code(suite, sik, transcript).toString('hex'),
  }).toEqual({ ...expected, k2: expected.k2.slice(0, 32) });
});

test.each([
  ['Get Channel Authentication Capabilities', 0x06, 0x38, 0, '8e04', '2018c88100388e04b5'],
  ['Set Session Privilege Level', 0x06, 0x3b, 1, '04', '2018c881043b043c'],
  ['Get Chassis Status', 0x00, 0x01, 6, '', '2000e081180166'],
  ['Close Session', 0x06, 0x3c, 7, '02030000', '2018c8811c3c0203000022'],
])('request %s', (_name, netfn, command, sequence, data, expected) => {
  const target = Buffer.alloc(40, 0xee);
  const end = writeRequest(target, 3, { netfn, command, data: bytes(data) }, sequence);
  expect(target.toString('hex', 3, end)).toBe(expected);
});

test('a request to a logical unit of another controller is carried by one to the BMC', () => {
  const target = Buffer.alloc(60);
  const bridge = { channel: 6, address: 0x2c };
  const end = writeRequest(target, 0, { netfn: 0x04, command: 0x2d, data: bytes('08'), lun: 1, bridge }, 5);
  expect(target.toString('hex', 0, end)).toBe('2018c8811434 46 2c11c320142d0897 f1'.replaceAll(' ', ''));
});

test.each([
  ['a status', '81047b2018010000004087', 0x00, 0x01, 6, { code: 0, data: '000040' }],
  ['an error', '81b4cb20083ec1d9', 0x2c, 0x3e, 2, { code: 0xc1, data: '' }],
  ['another sequence number', '81047b2018010000004087', 0x00, 0x01, 5, undefined],
  ['another command', '81047b2018010000004087', 0x00, 0x02, 6, undefined],
  ['another netfn', '81047b2018010000004087', 0x06, 0x01, 6, undefined],
  ['a wrong first checksum', '81047c2018010000004087', 0x00, 0x01, 6, undefined],
  ['a wrong second checksum', '81047b2018010000004088', 0x00, 0x01, 6, undefined],
  ['a request', '2000e081180166', 0x00, 0x01, 6, undefined],
  ['too little', '81047b20180187', 0x00, 0x01, 6, undefined],
])('response: %s', (_name, message, netfn, command, sequence, expected) => {
  const response = readResponse(bytes(message), { netfn, command }, sequence);
  expect(response && { code: response.code, data: response.data.toString('hex') }).toEqual(expected);
});

test('a presence ping', () => {
  expect(written((packet) => writePing(packet, 0x2a))).toBe('0600ff06000011be802a0000');
});

test.each([
  ['of a BMC', '0600ff06000011be402a0010000011be000000008100000000000000', { ipmi: true }],
  ['of something without IPMI', '0600ff06000011be402a0010000011be000000000100000000000000', { ipmi: false }],
  ['cut short', '0600ff06000011be402a0010000011be0000000081000000000000', undefined],
  ['that is a ping', '0600ff06000011be802a0010000011be000000008100000000000000', undefined],
  ['of another class', '0600ff07000011be402a0010000011be000000008100000000000000', undefined],
])('a pong %s', (_name, packet, expected) => {
  expect(readPong(bytes(packet))).toEqual(expected);
});
