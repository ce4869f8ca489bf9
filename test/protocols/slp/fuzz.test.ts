import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeReply, type Reply, statedLength } from '../../../src/protocols/slp/message.ts';
import { isUrl, parseAttributes, typeOfService } from '../../../src/protocols/slp/service.ts';
import { agentAdvert, attributeReply, message, overflow, serviceReply } from '../../lab/slp/wire.ts';

const xid = fc.nat(0xffff);
const text = fc.string({ maxLength: 60, unit: 'binary' });
const valid = fc.oneof(
  fc.tuple(xid, fc.array(text, { maxLength: 8 })).map(([id, urls]) => serviceReply({ xid: id }, urls)),
  fc.tuple(xid, text).map(([id, list]) => attributeReply({ xid: id, flags: overflow }, list)),
  fc.tuple(xid, text).map(([id, url]) => agentAdvert({ xid: id, language: 'fr' }, url)),
);
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));

function isReply(reply: Reply | undefined): boolean {
  if (reply === undefined) return true;
  const { kind, error, overflow: cut } = reply;
  const body = kind === 'services' ? reply.urls.every((url) => typeof url === 'string') : true;
  return reply.xid <= 0xffff && error <= 0xffff && typeof cut === 'boolean' && body;
}

const changes = fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 6 });

describe('the decoder takes whatever comes', () => {
  it('random bytes, with and without a header of ours', () => {
    const headed = fc
      .tuple(fc.constantFrom(2, 7, 8), xid, bytes)
      .map(([fn, id, body]) => message(fn, { xid: id }, body));
    fc.assert(
      fc.property(fc.oneof(bytes, headed), (packet) => isReply(decodeReply(packet))),
      { numRuns: 3_000 },
    );
  });

  it('valid packets with bytes changed', () => {
    fc.assert(
      fc.property(valid, changes, (packet, edits) => {
        const broken = Buffer.from(packet);
        for (const [at, value] of edits) broken[at % broken.length] = value;
        statedLength(broken);
        return isReply(decodeReply(broken));
      }),
      { numRuns: 3_000 },
    );
  });

  it('valid packets cut anywhere: nothing without its whole header, and nothing that was not in them', () => {
    fc.assert(
      fc.property(valid, fc.nat(400), (packet, at) => {
        const whole = decodeReply(packet)!;
        const cut = decodeReply(packet.subarray(0, at % packet.length));
        if (cut === undefined) return true;
        return cut.overflow && cut.kind === whole.kind && cut.xid === whole.xid;
      }),
      { numRuns: 2_000 },
    );
  });

  it('valid packets whole, and gives back what is in them', () => {
    fc.assert(
      fc.property(xid, fc.array(fc.string({ maxLength: 60 }), { maxLength: 8 }), (id, urls) => {
        expect(decodeReply(serviceReply({ xid: id }, urls))).toMatchObject({ xid: id, urls });
      }),
    );
  });

  it('attribute lists of any text', () => {
    const pieces = fc.array(fc.constantFrom('(', ')', '=', ',', '\\', '\\2c', 'a', ' ', '\u0000', '\ud800'), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          pieces.map((list) => list.join('')),
        ),
        (list) => {
          for (const [name, values] of parseAttributes(list)) if (name === '' || values.length > 64) return false;
          return true;
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('URLs of any text', () => {
    fc.assert(
      fc.property(text, (url) => typeof isUrl(url) === 'boolean' && typeOfService(url, 'service:x').length > 0),
    );
  });
});

describe('the type of a service', () => {
  it.each([
    ['service:a.b:c://h', 'service:a.b', 'service:a.b:c'],
    ['service:A.B:C://h', 'service:a.b', 'service:A.B:C'],
    ['service:a.b:c://h', 'service:a.b:c', 'service:a.b:c'],
    ['service:a.b:c:https://h', 'service:a.b:c', 'service:a.b:c:https'],
    ['service:other://h', 'service:a.b', 'service:other'],
    ['SERVICE:a.b:d://h', 'service:a.b:c', 'SERVICE:a.b:d'],
    ['service:://h', 'service:a.b', 'service:a.b'],
    ['https://h/', 'service:a.b', 'service:a.b'],
    ['nothing', 'service:a.b', 'service:a.b'],
  ])('%s asked for by %s is %s', (url, asked, type) => {
    expect(typeOfService(url, asked)).toBe(type);
  });
});
