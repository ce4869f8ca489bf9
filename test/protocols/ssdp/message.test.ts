import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeAnswer, searchRequest } from '../../../src/protocols/ssdp/search.ts';

const uuid = '6f1c7e1a-0000-4000-8000-0123456789ab';
const target = 'urn:dmtf-org:service:redfish-rest:1';
const answer = (headers: Record<string, string>, status = 'HTTP/1.1 200 OK', end = '\r\n'): Buffer =>
  Buffer.from([status, ...Object.entries(headers).map(([name, value]) => `${name}:${value}`), '', ''].join(end));
const usual = {
  'CACHE-CONTROL': 'max-age=1800',
  ST: `${target}:0`,
  USN: `uuid:${uuid}::${target}:0`,
  AL: 'https://10.0.0.1/redfish/v1/',
};

describe('a search', () => {
  it('is the M-SEARCH of the Redfish specification', () => {
    expect(searchRequest('239.255.255.250', 2).toString()).toBe(
      `M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: "ssdp:discover"\r\nMX: 2\r\nST: ${target}\r\n\r\n`,
    );
    expect(searchRequest('ff02::c', 1).toString()).toContain('\r\nHOST: [ff02::c]:1900\r\n');
  });
});

describe('an answer', () => {
  const known = { uuid, url: 'https://10.0.0.1/redfish/v1/' };
  it.each<[string, Buffer, unknown]>([
    ['as specified', answer(usual), known],
    [
      'with blanks and small letters',
      answer({ st: ` ${target} `, usn: ` uuid:${uuid.toUpperCase()} `, al: ' https://10.0.0.1/redfish/v1/ ' }),
      known,
    ],
    ['with bare line feeds', answer(usual, 'HTTP/1.1 200 OK', '\n'), known],
    ['with a minor version behind a dot', answer({ ...usual, ST: `${target}.0` }), known],
    [
      'with LOCATION instead of AL',
      answer({ ST: target, USN: `uuid:${uuid}::x`, LOCATION: 'http://h/redfish/v1/' }),
      { uuid, url: 'http://h/redfish/v1/' },
    ],
    ['without anything but its target', answer({ ST: target }), { uuid: '' }],
    [
      'with a root that is no URL of a service',
      answer({ ST: target, AL: 'javascript:alert(1)' }),
      { uuid: '', url: 'javascript:alert(1)' },
    ],
    ['with a UUID that is none', answer({ ST: target, USN: 'uuid:../../etc' }), { uuid: '' }],
  ])('%s is read', (_name, packet, expected) => {
    expect(decodeAnswer(packet)).toEqual(expected);
  });

  it.each<[string, Buffer]>([
    ['that is empty', Buffer.alloc(0)],
    ['of another service', answer({ ...usual, ST: 'upnp:rootdevice' })],
    ['of another version', answer({ ...usual, ST: 'urn:dmtf-org:service:redfish-rest:10' })],
    ['of a target that only begins so', answer({ ...usual, ST: `${target}:0 and more` })],
    ['without a target', answer({ USN: `uuid:${uuid}` })],
    ['that refuses', answer(usual, 'HTTP/1.1 404 Not Found')],
    ['that is a notification', answer(usual, 'NOTIFY * HTTP/1.1')],
    ['that is our own search', searchRequest('239.255.255.250', 1)],
    ['whose target comes after the head', Buffer.from(`HTTP/1.1 200 OK\r\n\r\nST: ${target}\r\n\r\n`)],
    [
      'with thousands of headers before its target',
      Buffer.from(`HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(5_000)}ST: ${target}\r\n\r\n`),
    ],
  ])('%s is not', (_name, packet) => {
    expect(decodeAnswer(packet)).toBeUndefined();
  });

  it('of any bytes does no harm', () => {
    const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));
    const changes = fc.array(fc.tuple(fc.nat(300), fc.nat(255)), { minLength: 1, maxLength: 8 });
    const mutated = fc.tuple(changes, fc.nat(300)).map(([edits, at]) => {
      const packet = answer(usual);
      for (const [where, value] of edits) packet[where % packet.length] = value;
      return packet.subarray(0, at);
    });
    fc.assert(
      fc.property(
        fc.oneof(
          bytes,
          mutated,
          bytes.map((rest) => Buffer.concat([answer({ ST: target }), rest])),
        ),
        (packet) => {
          const found = decodeAnswer(packet);
          return found === undefined || /^([0-9a-f-]{36})?$/.test(found.uuid);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
