import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { AddressGuard } from '../../src/core/address-guard.ts';
import { NodeProbes, usualApplications } from '../../src/nodes/node-probes.ts';

const probes = new NodeProbes(new AddressGuard(undefined));

test('whoever has left is not told that a node is away', async () => {
  const look = probes.look('127.143.0.1', usualApplications, AbortSignal.abort());
  await expect(look).rejects.toThrow('the command was cancelled.');
});

test('an installer that never comes to the end of its line is not waited for', async () => {
  const endless = createServer((socket) => {
    socket.on('error', () => undefined);
    const timer = setInterval(() => socket.write('.'), 100);
    socket.once('close', () => clearInterval(timer));
  }).listen(3001, '127.143.0.2');
  await once(endless, 'listening');
  try {
    expect(await probes.installer('127.143.0.2', new AbortController().signal)).toMatch(/^\.+$/);
  } finally {
    endless.close();
  }
});
