import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SecretBox } from '../../../src/access/secrets.ts';
import { PushListener } from '../../../src/nodes/hardware-events/push-listener.ts';
import { TrapListener } from '../../../src/nodes/hardware-events/trap-listener.ts';
import { encode, encodeInteger, encodeOid, tags } from '../../../src/protocols/snmp/message.ts';
import { freePort } from '../../lab/nats.ts';

const log = { debug: () => {}, warn: console.warn } as never;
const [hostile, good] = ['127.87.1.1', '127.87.1.2'];
let directory: string;

beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'muster-listeners-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('one address that keeps connections open keeps no other BMC from sending its events', async () => {
  const port = await freePort('127.0.0.1');
  const heard: string[] = [];
  const box = SecretBox.open(join(directory, 'key'));
  const listener = new PushListener((device) => void heard.push(device), `http://127.0.0.1:${port}/in`, { box, log });
  await listener.listen([{ host: '127.0.0.1', port }], { cert: '', key: '' });
  const idle: Socket[] = [];
  try {
    listener.know(['good']);
    for (let i = 0; i < 600; i++) {
      const socket = connect({ host: '127.0.0.1', port, localAddress: hostile });
      socket.on('error', () => {});
      idle.push(socket);
      await once(socket, 'connect');
    }
    const { destination } = listener.receiverOf('good');
    const sending = request(destination, { method: 'POST', localAddress: good });
    sending.end('{"Events":[{"Message":"It is hot."}]}');
    const [{ statusCode }] = await once(sending, 'response');
    expect([statusCode, heard]).toEqual([204, ['good']]);
  } finally {
    for (const socket of idle) socket.destroy();
    listener.close();
  }
});

function trap(text: string): Buffer {
  const binding = (oid: readonly number[], value: Buffer) => encode(tags.sequence, encodeOid(oid), value);
  const bindings = encode(
    tags.sequence,
    binding([1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0], encodeOid([1, 3, 6, 1, 4, 1, 9999, 1])),
    binding([1, 3, 6, 1, 4, 1, 9999, 2], encode(tags.octets, Buffer.from(text))),
  );
  const number = encodeInteger(0);
  const body = encode(0xa7, number, number, number, bindings);
  return encode(tags.sequence, encodeInteger(1), encode(tags.octets, Buffer.from('public')), body);
}

it('a BMC that floods with traps keeps those of no other from being read', async () => {
  const port = await freePort('127.0.0.1');
  const heard: string[] = [];
  const listener = new TrapListener(undefined, log, (device) => void heard.push(device));
  await listener.listen([{ host: '127.0.0.1', port }]);
  const [flooding, calm] = [hostile, good].map((address) => createSocket('udp4').bind(0, address));
  await Promise.all([once(flooding!, 'listening'), once(calm!, 'listening')]);
  const send = (socket: typeof calm, packet: Buffer) =>
    new Promise((resolve) => socket!.send(packet, port, '127.0.0.1', resolve));
  try {
    listener.know([
      ['flooding', hostile],
      ['calm', good],
    ]);
    for (let i = 0; i < 1_000; i++) {
      await send(flooding, trap('flood'));
      // What the system has no room for was lost before.
      if (i % 10 === 0) await nextTurn();
    }
    await send(calm, trap('fan 3 failed'));
    await vi.waitFor(() => expect(heard).toContain('calm'), { timeout: 5_000 });
    expect(heard.length).toBeLessThan(200);
  } finally {
    for (const socket of [flooding, calm]) socket!.close();
    listener.close();
  }
});
