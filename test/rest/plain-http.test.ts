import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from '../harness/output.ts';
import { runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makeNamespace, type Namespace } from '../lab/netns.ts';

const plainUrl = async (server: TestServer): Promise<string> => (await said(server, /^Without TLS: (http:\S+)$/m))[1]!;

interface Plain {
  readonly localAddress?: string;
  readonly headers?: Record<string, string>;
}

function get(url: string, { localAddress, headers = {} }: Plain = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, headers, ...(localAddress ? { localAddress } : {}) }, (reply) => {
      let text = '';
      reply.on('data', (chunk: Buffer) => (text += String(chunk)));
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('plain HTTP on loopback with a proxy', () => {
  let server: TestServer;
  const proxy = '127.0.0.7';
  beforeAll(async () => {
    server = await startServer({ config: `[http]\nlisten = ["127.0.0.1:0"]\nproxies = ["${proxy}/32"]\n` });
  });
  afterAll(() => server.stop());

  const clientOf = async (localAddress: string, forwarded: string): Promise<unknown> => {
    const headers = { 'X-Auth-Token': server.token, 'X-Forwarded-For': forwarded };
    const path = `/nodes/${forwarded.replaceAll(/\W/g, '')}${localAddress.replaceAll('.', '')}`;
    await get(`${await plainUrl(server)}${path}`, { localAddress, headers });
    const { auditlog } = await server.ok('GET', '/tables/auditlog/rows');
    return auditlog.findLast(({ noderange }: { noderange?: string }) => `/nodes/${noderange}` === path)?.clientname;
  };

  it('answers as HTTPS does', async () => {
    const headers = { 'X-Auth-Token': server.token };
    expect(await get(`${await plainUrl(server)}/nodes`, { headers })).toEqual({ status: 200, text: '[]\n' });
    expect((await get(`${await plainUrl(server)}/nodes`)).status).toBe(401);
  });

  it('believes the proxy alone about whom it speaks for, and of what it says only the last', async () => {
    expect(await clientOf(proxy, '192.0.2.1')).toBe('192.0.2.1');
    expect(await clientOf(proxy, '198.51.100.9, 192.0.2.2')).toBe('192.0.2.2');
    expect(await clientOf('127.0.0.1', '192.0.2.3')).toBe('127.0.0.1');
  });

  it('refuses a proxy that names nobody', async () => {
    const reply = await get(`${await plainUrl(server)}/nodes`, {
      localAddress: proxy,
      headers: { 'X-Forwarded-For': 'somebody' },
    });
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('X-Forwarded-For')]);
  });
});

describe('plain HTTP beyond loopback', () => {
  let namespace: Namespace;
  let server: TestServer;
  beforeAll(async () => {
    namespace = makeNamespace();
    for (const address of ['10.9.9.1/32', '10.9.9.7/32', '10.9.9.8/32'])
      namespace.run('ip', 'address', 'add', address, 'dev', 'lo');
    const config = '[http]\nlisten = ["10.9.9.1:0"]\nproxies = ["10.9.9.7/32"]\n';
    server = await startServer({ namespace, config });
  });
  afterAll(async () => {
    await server?.stop();
    namespace?.remove();
  });

  it('is for the proxies that are named and nobody else', async () => {
    const url = `${await plainUrl(server)}/health`;
    const status = (from: string): string =>
      namespace.run(
        process.execPath,
        '-e',
        `require('http').get(process.argv[1], { localAddress: process.argv[2] }, (r) => (console.log(r.statusCode), process.exit())).on('error', () => console.log('closed'))`,
        url,
        from,
      );
    expect([status('10.9.9.7'), status('10.9.9.8')]).toEqual(['200\n', 'closed\n']);
  });
});

it('does not start where passwords would travel in the clear', async () => {
  const { code, output } = await runMuster(['--data', temporaryDirectory(), '--listen', '127.0.0.1:0'], {
    MUSTER_HTTP_LISTEN: '0.0.0.0:8080',
  });
  expect([code, output]).toEqual([1, expect.stringContaining('Name the proxies that may use it in http.proxies')]);
});
