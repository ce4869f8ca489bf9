import { describe, expect, it } from 'vitest';
import { attributeRequest, decodeReply, serviceRequest } from '../../../src/protocols/slp/message.ts';

/** Bytes in hexadecimal, and text between apostrophes. */
const bytes = (text: string): Buffer =>
  Buffer.concat(
    (text.match(/'[^']*'|[0-9a-f]{2}/g) ?? []).map((piece) =>
      piece.startsWith("'") ? Buffer.from(piece.slice(1, -1)) : Buffer.from(piece, 'hex'),
    ),
  );

describe('requests have the bytes of RFC 2608', () => {
  it('for services, to all, with those who have answered', () => {
    expect(serviceRequest(0x1234, 'service:printer:lpr', ['10.0.0.7', '10.0.0.9'])).toEqual(
      bytes(`02 01 00 00 45 20 00 00 00 00 12 34 00 02 'en'
             00 11 '10.0.0.7,10.0.0.9' 00 13 'service:printer:lpr' 00 07 'DEFAULT' 00 00 00 00`),
    );
  });

  it('for services, to one agent', () => {
    expect(serviceRequest(7, 'service:x', undefined)).toEqual(
      bytes(`02 01 00 00 2a 00 00 00 00 00 00 07 00 02 'en' 00 00 00 09 'service:x' 00 07 'DEFAULT' 00 00 00 00`),
    );
  });

  it('for attributes', () => {
    expect(attributeRequest(0x0102, 'service:printer:lpr://h')).toEqual(
      bytes(`02 06 00 00 38 00 00 00 00 00 01 02 00 02 'en'
             00 00 00 17 'service:printer:lpr://h' 00 07 'DEFAULT' 00 00 00 00`),
    );
  });

  it('with as many previous responders as fit a datagram, and without the zones of their addresses', () => {
    const many = Array.from({ length: 500 }, (_, i) => `10.20.${100 + Math.floor(i / 100)}.${100 + (i % 100)}`);
    const request = serviceRequest(1, 'service:x', many);
    expect(request.length).toBeLessThanOrEqual(1_400);
    expect(request.length).toBeGreaterThan(1_380);
    expect(request.readUIntBE(2, 3)).toBe(request.length);
    expect(serviceRequest(1, 'service:x', ['fe80::1%eth0']).toString('latin1')).toContain(
      '\0\x07fe80::1\0\x09service:x',
    );
  });
});

const services = (xid: number, urls: string[], more: object = {}) => ({
  kind: 'services',
  xid,
  error: 0,
  overflow: false,
  urls,
  ...more,
});
const attributes = (text: string, more: object = {}) => ({
  kind: 'attributes',
  xid: 1,
  error: 0,
  overflow: false,
  text,
  ...more,
});

describe('replies are read', () => {
  it.each([
    [
      'services, one of them signed',
      `02 02 00 00 53 00 00 00 00 00 12 34 00 02 'en' 00 00 00 02
       00 ff ff 00 17 'service:printer:lpr://h' 00
       00 00 3c 00 0e 'service:x://10' 01 00 02 00 0e 00 00 00 01 00 02 'ab' ff ff`,
      services(0x1234, ['service:printer:lpr://h', 'service:x://10']),
    ],
    ['no service', `02 02 00 00 14 00 00 00 00 00 00 09 00 02 'en' 00 00 00 00`, services(9, [])],
    [
      'in another language',
      `02 02 00 00 22 00 00 00 00 00 00 09 00 05 'de-AT' 00 00 00 01 00 00 01 00 05 'a://b' 00`,
      services(9, ['a://b']),
    ],
    [
      'with an extension behind, and bytes behind that',
      `02 02 00 00 1f 00 00 00 00 1f 00 09 00 02 'en' 00 00 00 01 00 00 01 00 05 'a://b' 00 'more'`,
      services(9, ['a://b']),
    ],
    [
      'an error, with nothing behind it',
      `02 02 00 00 12 00 00 00 00 00 00 09 00 02 'en' 00 04`,
      services(9, [], { error: 4 }),
    ],
    [
      'an overflow, cut within the second URL',
      `02 02 00 01 00 80 00 00 00 00 00 09 00 02 'en' 00 00 00 03 00 00 01 00 05 'a://b' 00 00 00 01 00 05 'c:/'`,
      services(9, ['a://b'], { overflow: true }),
    ],
    [
      'a list that says it is longer than it is',
      `02 02 00 00 1f 00 00 00 00 00 00 09 00 02 'en' 00 00 ff ff 00 00 01 00 05 'a://b' 00`,
      services(9, ['a://b']),
    ],
    [
      'a signature that says it is longer than the message',
      `02 02 00 00 23 00 00 00 00 00 00 09 00 02 'en' 00 00 00 02 00 00 01 00 05 'a://b' 01 00 02 ff ff`,
      services(9, ['a://b']),
    ],
    [
      'a signature shorter than its own head',
      `02 02 00 00 23 00 00 00 00 00 00 09 00 02 'en' 00 00 00 02 00 00 01 00 05 'a://b' 01 00 02 00 00`,
      services(9, ['a://b']),
    ],
    ['attributes', `02 07 00 00 1a 00 00 00 00 00 00 01 00 02 'en' 00 00 00 05 '(a=1)' 00`, attributes('(a=1)')],
    ['attributes refused', `02 07 00 00 12 00 00 00 00 00 00 01 00 02 'en' 00 01`, attributes('', { error: 1 })],
    [
      'attributes that overflowed',
      `02 07 00 ff ff 80 00 00 00 00 00 01 00 02 'en' 00 00 00 ff '(a=1)'`,
      attributes('', { overflow: true }),
    ],
    [
      'the advertisement of a directory agent',
      `02 08 00 00 42 00 00 00 00 00 00 01 00 02 'en' 00 00 00 00 00 2a 00 1d 'service:directory-agent://10.' 00 07 'DEFAULT' 00 00 00 00 00`,
      { kind: 'agent', xid: 1, error: 0, overflow: false, url: 'service:directory-agent://10.' },
    ],
  ])('%s', (_name, text, reply) => {
    expect(decodeReply(bytes(text))).toEqual(reply);
  });

  it.each([
    ['nothing', ''],
    ['of version 1', `01 02 00 00 14 00 00 00 00 00 00 09 00 02 'en' 00 00 00 00`],
    ['a request', `02 01 00 00 2a 00 00 00 00 00 00 07 00 02 'en' 00 00 00 09 'service:x' 00 07 'DEFAULT' 00 00 00 00`],
    ['longer than the packet', `02 02 00 00 15 00 00 00 00 00 00 09 00 02 'en' 00 00 00 00`],
    ['shorter than its header', `02 02 00 00 05 00 00 00 00 00 00 09 00 02 'en' 00 00 00 00`],
    ['with a language longer than the message', `02 02 00 00 14 00 00 00 00 00 00 09 ff ff 'en' 00 00 00 00`],
    ['without an error code', `02 02 00 00 10 00 00 00 00 00 00 09 00 02 'en'`],
    ['attributes longer than the message', `02 07 00 00 1a 00 00 00 00 00 00 01 00 02 'en' 00 00 00 ff '(a=1)' 00`],
    ['an advertisement without a URL', `02 08 00 00 14 00 00 00 00 00 00 01 00 02 'en' 00 00 00 00`],
    ['of an unknown function', `02 63 00 00 14 00 00 00 00 00 00 09 00 02 'en' 00 00 00 00`],
  ])('but not %s', (_name, text) => {
    expect(decodeReply(bytes(text))).toBeUndefined();
  });
});
