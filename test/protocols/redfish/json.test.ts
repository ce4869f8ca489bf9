import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { messageKeys, messagesOf, refusal } from '../../../src/protocols/redfish/faults.ts';
import {
  at,
  flagAt,
  linkAt,
  linksAt,
  listAt,
  localPath,
  namesAt,
  numberAt,
  parseResource,
  textAt,
  textsAt,
} from '../../../src/protocols/redfish/json.ts';

const parse = (text: string) => parseResource(Buffer.from(text), 'it');

describe('parseResource', () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    ['\uFEFF{"a":1}', { a: 1 }],
    ['{"a":"}]{[\\"{"}', { a: '}]{["{' }],
    [`{"a":${'['.repeat(63)}${']'.repeat(63)}}`, expect.anything()],
  ])('reads %s', (text, value) => expect(parse(text)).toEqual(value));

  it.each([
    '',
    '<html>',
    '{"a":',
    '[]',
    'null',
    '1',
    '"a"',
    '{"a":1}}',
    `{"a":${'['.repeat(64)}${']'.repeat(64)}}`,
    '['.repeat(100_000),
  ])('calls %s garbled', (text) =>
    expect(() => parse(text)).toThrow(expect.objectContaining({ name: 'Fault', kind: 'garbled' })),
  );

  it('throws nothing but a Fault, whatever the bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          try {
            expect(typeof parseResource(Buffer.from(bytes), 'it')).toBe('object');
          } catch (error) {
            expect(error).toBeInstanceOf(Fault);
          }
        },
      ),
    );
  });
});

describe('localPath', () => {
  it.each([
    ['/redfish/v1', '/redfish/v1'],
    ['/redfish/v1/Chassis/1/Power#/PowerControl/0', '/redfish/v1/Chassis/1/Power'],
    ['https://other.example/redfish/v1/Tasks/1?a=b', '/redfish/v1/Tasks/1?a=b'],
    ['//other.example/x', undefined],
    ['redfish/v1', undefined],
    ['/a b', undefined],
    ['/a\r\nHost: x', undefined],
    ['/\u00e9', undefined],
    ['https://', undefined],
    ['file:///etc/passwd', undefined],
    [`/${'a'.repeat(3_000)}`, undefined],
    [7, undefined],
    [null, undefined],
  ])('of %s is %s', (link, path) => expect(localPath(link)).toBe(path));
});

describe('members', () => {
  const value = {
    text: ' a\u0000b\u202ec\n ',
    blank: '  ',
    digits: '12.5',
    number: 3,
    list: ['a', 1, null],
    flag: false,
    link: { '@odata.id': '/x' },
    links: [{ '@odata.id': '/x' }, {}, 1, { '@odata.id': '//y' }],
  };

  it('are read if they have the right form', () => {
    expect(textAt(value, 'text')).toBe('a b c');
    expect(textAt(value, 'blank')).toBeUndefined();
    expect(textAt(value, 'number')).toBeUndefined();
    expect([numberAt(value, 'digits'), numberAt(value, 'number'), numberAt(value, 'text')]).toEqual([
      12.5,
      3,
      undefined,
    ]);
    expect([flagAt(value, 'flag'), flagAt(value, 'number')]).toEqual([false, undefined]);
    expect(textsAt(value, 'list')).toEqual(['a']);
    expect([linkAt(value, 'link'), linksAt(value, 'links')]).toEqual(['/x', ['/x']]);
  });

  it('never throw, whatever the value and the path', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.string(), { maxLength: 4 }), (json, path) => {
        for (const read of [at, textAt, numberAt, flagAt, listAt, textsAt, linkAt, linksAt]) read(json, ...path);
        expect(typeof messagesOf(json)).toBe('string');
        expect(Array.isArray(messageKeys(json))).toBe(true);
      }),
    );
  });
});

describe('refusal', () => {
  const attempt = { method: 'PATCH', path: '/x', username: 'admin', secrets: ['s3cret', ''] };
  const info = { MessageId: 'Base.1.18.PropertyUnknown', Message: 'The value s3cret is wrong.' };
  const body = {
    error: { code: 'Base.1.18.GeneralError', message: 'General.', '@Message.ExtendedInfo': [info, info] },
  };

  it('says what the service said, once, and without secrets', () => {
    const { kind, message } = refusal(attempt, 400, body, undefined);
    expect({ kind, message }).toEqual({
      kind: 'invalid',
      message: 'its BMC answered 400 to PATCH /x. It says: The value *** is wrong.',
    });
    expect(messageKeys(body)).toEqual(['GeneralError', 'PropertyUnknown', 'PropertyUnknown']);
  });

  it.each([
    [401, 'invalid', /user "admin" with the password/],
    [403, 'invalid', /does not allow user "admin" PATCH \/x/],
    [503, 'unavailable', /busy/],
    [500, 'invalid', /answered 500/],
  ] as const)('of status %i is %s', (status, kind, sentence) => {
    const fault = refusal(attempt, status, undefined, '7');
    expect(fault.kind).toBe(kind);
    expect(fault.message).toMatch(sentence);
    expect(fault.retryAfter).toBe(status === 503 ? 7 : undefined);
  });
});

it('a text where an object should be has no names, and an object few', () => {
  expect(namesAt({ Oem: 'x'.repeat(1_000_000) }, 'Oem')).toEqual([]);
  expect(namesAt({ Oem: ['Hpe'] }, 'Oem')).toEqual([]);
  expect(namesAt({ Oem: { Hpe: {} } }, 'Oem')).toEqual(['Hpe']);
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`n${i}`, 1]));
  expect(namesAt({ Oem: many }, 'Oem')).toHaveLength(1_000);
});
