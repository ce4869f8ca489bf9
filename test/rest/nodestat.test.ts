import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
const listeners: Server[] = [];

async function listen(address: string, port: number): Promise<void> {
  const listener = createServer().listen(port, address);
  await once(listener, 'listening');
  listeners.push(listener);
}

beforeAll(async () => {
  server = await startServer();
  await Promise.all([listen('127.126.0.1', 22), listen('127.126.0.1', 443)]);
  await server.ok('PUT', '/nodes', {
    busy: { groups: 'all', ip: '127.126.0.1' },
    idle: { groups: 'all', ip: '127.126.0.2', currstate: 'boot' },
    fresh: { groups: 'all', ip: '127.126.0.3' },
    lost: { groups: 'all' },
  });
});
afterAll(async () => {
  for (const listener of listeners) listener.close();
  await server?.stop();
});

const unknown = 'Please make sure lost exists in /etc/hosts or DNS or hosts table';

describe('nodestat', () => {
  test('tells what answers, the boot state of what only lives, and what has no address', async () => {
    expect(await server.ok('GET', '/nodes/busy,idle,fresh,lost/nodestat')).toEqual({
      busy: { nodestat: 'https,sshd' },
      idle: { nodestat: 'ping boot' },
      fresh: { nodestat: 'ping' },
      lost: { nodestat: unknown },
    });
  });

  test('writes nothing when read; the other way keeps what was seen', async () => {
    const status = () => server.ok('GET', '/nodes/busy/attrs/status,appstatus');
    expect(await status()).toEqual({ busy: { status: '', appstatus: '' } });
    expect(await server.ok('PUT', '/nodes/busy/nodestat', {})).toEqual({ busy: { nodestat: 'https,sshd' } });
    expect(await status()).toEqual({
      busy: { status: 'alive', appstatus: 'https=up,msrpc=down,pbs=down,rdp=down,sshd=up,xend=down' },
    });
  });

  test('looks at nobody outside the networks of nodes', async () => {
    await server.ok('PUT', '/nodes', { far: { groups: 'all', ip: '192.0.2.1' } });
    const { status, text } = await server.call('GET', '/nodes/far,busy/nodestat');
    expect([status, text]).toEqual([403, expect.stringContaining('far: the address 192.0.2.1 is outside')]);
  });

  test('of an unknown node is refused', async () => {
    expect((await server.call('GET', '/nodes/nosuch/nodestat')).status).toBe(404);
    expect((await server.call('PUT', '/nodes/busy/nodestat', { body: { power: 'maybe' } })).status).toBe(400);
  });
});
