import { expect, test } from 'vitest';
import { ProtocolGuard } from '../../src/bus/protocol-guard.ts';

/** What the guard says of bytes that come in pieces of a size. */
function verdict(bytes: Buffer, size: number): string | undefined {
  const guard = new ProtocolGuard();
  for (let at = 0; at < bytes.length; at += size) {
    const problem = guard.check(bytes.subarray(at, at + size));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const sizes = [1, 2, 3, 7, 1_000_000];

test('what NATS says passes, however it is cut', () => {
  const payload = Buffer.concat([Buffer.from([0, 13, 10, 255]), Buffer.from('MSG x 1 5\r\n')]);
  const bytes = Buffer.concat([
    Buffer.from('INFO {"server_id":"N","nonce":"abc","max_payload":1048576,"client_id":5} \r\nPING\r\nPONG\r\n+OK\r\n'),
    Buffer.from(`MSG muster.from.sn1.i.here 12 ${payload.length}\r\n`),
    payload,
    Buffer.from("\r\nMSG a 1 0\r\n\r\nMSG a 1 reply.to 1\r\nx\r\n-ERR 'Permissions Violation for Publish'\r\n"),
  ]);
  for (const size of sizes) expect(verdict(bytes, size)).toBeUndefined();
});

test.each([
  ['MSG a 1 2097153\r\n', 'a message of 2097153 bytes'],
  ['MSG a 1 999999999999\r\n', 'does not speak the protocol'],
  ['MSG a 1 -1\r\n', 'does not speak the protocol'],
  ['MSG a 1 2\r\nabc\r\n', 'longer than it said'],
  ['HMSG a 1 12 12\r\n', 'does not speak the protocol'],
  ['INFO []x\r\n', 'does not speak the protocol'],
  ['INFO null\r\n', 'does not speak the protocol'],
  ['INFO {"nonce":{}}\r\n', 'does not speak the protocol'],
  ['PING\n', 'does not speak the protocol'],
  ['GET / HTTP/1.1\r\n', 'does not speak the protocol'],
])('%j is refused', (text, problem) => {
  for (const size of sizes) expect(verdict(Buffer.from(text), size)).toContain(problem);
});

test('a line that does not end is refused', () => {
  const text = `INFO ${'x'.repeat(70_000)}`;
  for (const size of sizes) expect(verdict(Buffer.from(text), size)).toContain('a line that is too long');
});
