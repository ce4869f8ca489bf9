import { createSecretKey } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { credentialsOf, suites } from '../../../src/protocols/ipmi/link.ts';
import { advance, newHandshake, writeOffer } from '../../../src/protocols/ipmi/handshake.ts';
import { readPong, recipientOf } from '../../../src/protocols/ipmi/header.ts';
import { deriveKeys } from '../../../src/protocols/ipmi/setup-packets.ts';
import { newSeal, openMessage, readResponse } from '../../../src/protocols/ipmi/session.ts';
import { captured } from './captured.ts';
import { kindOf, responseOf, World } from './world.ts';

const runs = { numRuns: 3_000 };
const random = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));

/** A genuine packet of the set-up or of a session with some bytes changed, cut or lengthened. */
const genuine = [17, 3].flatMap((id) => {
  const { openResponse, rakp2, rakp4, toConsole } = captured[id as 17 | 3];
  return [openResponse, rakp2, rakp4, ...Object.keys(toConsole)];
});
const mutated = fc
  .tuple(
    fc.constantFrom(...genuine),
    fc.array(fc.tuple(fc.nat(120), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 }),
    fc.integer({ min: -20, max: 20 }),
  )
  .map(([hex, changes, growth]) => {
    const bytes = Buffer.from(hex, 'hex');
    const packet = Buffer.alloc(Math.max(0, bytes.length + growth));
    bytes.copy(packet);
    for (const [at, change] of changes) if (at < packet.length) packet[at]! ^= change;
    return packet;
  });
const hostile = fc.oneof(random, mutated);

test('no packet makes a reader throw', () => {
  fc.assert(
    fc.property(hostile, (packet) => {
      const id = recipientOf(packet);
      expect(id).toBeGreaterThanOrEqual(0);
      expect([true, false, undefined]).toContain(readPong(packet)?.ipmi);
      expect(readResponse(packet, { netfn: 0, command: 1 }, 2)?.code ?? 0).toBeLessThan(256);
    }),
    runs,
  );
});

test.each([17, 3] as const)('no packet made without the keys is opened (suite %i)', (id) => {
  const session = captured[id];
  const keys = deriveKeys(suites[id], createSecretKey(Buffer.from(session.sik, 'hex')));
  fc.assert(
    fc.property(hostile, (packet) => {
      const original = genuine.includes(`06${packet.toString('hex', 1)}`);
      const covered = genuine.some((hex) => hex.slice(8) === packet.toString('hex', 4));
      fc.pre(!original && !covered);
      expect(openMessage(newSeal(suites[id], keys, session.consoleId, session.bmcId), packet)).toBeUndefined();
    }),
    runs,
  );
});

test.each(['open', 'rakp1', 'rakp3'] as const)('no packet made without the password opens a session (%s)', (phase) => {
  const session = captured[17];
  const credentials = credentialsOf({ address: 'x', username: 'admin', password: 'secret' });
  fc.assert(
    fc.property(hostile, (packet) => {
      const handshake = newHandshake(credentials, suites[17], 4, (target) => target.fill(1));
      writeOffer(handshake, Buffer.alloc(100), session.consoleId, 0);
      handshake.phase = phase;
      handshake.taken = phase === 'open' ? undefined : handshake.offers[0];
      const verdict = advance(handshake, packet);
      expect(verdict.kind).not.toBe('ready');
      if (phase !== 'open') expect(verdict.kind).not.toBe('next');
    }),
    runs,
  );
});

test('a conversation under a rain of hostile packets goes on undisturbed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(hostile, { minLength: 1, maxLength: 30 }), async (packets) => {
      const world = new World();
      const request = world.request();
      for (const packet of packets) {
        // Addressed to the session that is being opened, as an attacker on the path would.
        if (packet.length >= 24) packet.writeUInt32LE(0x1001, packet[5] === 0xc0 ? 6 : 20);
        // A refusal cannot be told from a genuine one.
        if (['opened', 'rakp2', 'rakp4'].includes(kindOf(packet))) continue;
        world.deliver(packet);
        await world.run(0.5);
      }
      await world.run(3_000);
      expect(responseOf(request).code).toBe(0);
    }),
    { numRuns: 200 },
  );
});
