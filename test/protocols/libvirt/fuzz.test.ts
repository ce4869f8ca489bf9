import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readDomain, readLifecycle } from '../../../src/protocols/libvirt/calls/domains.ts';
import { LibvirtFault, readRefusal } from '../../../src/protocols/libvirt/faults.ts';
import { Framer, readParameters, XdrReader } from '../../../src/protocols/libvirt/wire.ts';
import { captured } from './captured.ts';
import { converse } from './conversation.ts';
import { makePeer } from './peer.ts';

const received = captured.map(([, reply]) => Buffer.from(reply, 'hex'));
const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));
/** Small words more often than others: they are counts, lengths and types. */
const words = fc
  .array(fc.oneof(fc.nat(8), fc.nat(0xffff_ffff)), { maxLength: 60 })
  .map((list) => Buffer.concat(list.map((word) => Buffer.from(word.toString(16).padStart(8, '0'), 'hex'))));
const edited = fc
  .tuple(fc.constantFrom(...received), fc.array(fc.tuple(fc.nat(2_000), fc.nat(255)), { maxLength: 6 }), fc.nat(2_000))
  .map(([reply, edits, end]) => {
    const broken = Buffer.from(reply);
    for (const [at, value] of edits) broken[at % broken.length] = value;
    return end % 3 === 0 ? broken.subarray(0, end % broken.length) : broken;
  });

/** Whether it is done, or the fault is of this protocol. */
function staysHere(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch (error) {
    return error instanceof LibvirtFault;
  }
}

const decoders = [
  (body: XdrReader) => readDomain(body),
  (body: XdrReader) => readParameters(body),
  (body: XdrReader) => readLifecycle(body),
  (body: XdrReader) => readRefusal('lab', body),
  (body: XdrReader) => body.list(100, () => body.optional(() => body.string())),
  (body: XdrReader) => body.data(100),
];

test('decoders take whatever comes', () => {
  fc.assert(
    fc.property(fc.oneof(bytes, words, edited), (body) =>
      decoders.every((decode) => staysHere(() => decode(new XdrReader(body)))),
    ),
    { numRuns: 3_000 },
  );
});

test('streams of whatever comes, in pieces of any size', () => {
  fc.assert(
    fc.property(fc.oneof(bytes, words, edited), fc.integer({ min: 1, max: 50 }), (stream, size) =>
      staysHere(() => {
        const framer = new Framer();
        for (let at = 0; at < stream.length; at += size) Array.from(framer.add(stream.subarray(at, at + size)));
      }),
    ),
    { numRuns: 3_000 },
  );
});

test('a conversation with somebody who answers anything ends with its result or a fault of this protocol', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(captured.length - 1), edited, async (at, broken) => {
      let answered = 0;
      const peer = makePeer((_message, { sayBytes, hangUp }) => {
        const number = answered++;
        sayBytes(number === at ? broken : received[number]!);
        // What was cut would be waited for.
        if (number === at) hangUp();
      });
      const outcome = await converse(peer.connection).catch((error: unknown) => error);
      peer.connection.close();
      expect(outcome instanceof LibvirtFault || (typeof outcome === 'object' && !(outcome instanceof Error))).toBe(
        true,
      );
    }),
    { numRuns: 500 },
  );
});
