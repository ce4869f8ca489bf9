import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

describe('somebody who knows nothing but the address', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
    await server.ok('POST', '/nodes/n1', { groups: 'all' });
  });
  afterAll(() => server.stop());

  it('reads at the start where the manual is', async () => {
    await expect.poll(() => server.output()).toMatch(/^The manual is at https:\/\/127\.0\.0\.1:\d+\/muster\/manual$/m);
  });

  it('comes to the manual from /', async () => {
    const reply = await server.call('GET', '/', { root: '', token: null });
    expect([reply.status, reply.headers['location']]).toEqual([302, '/muster/manual']);
    expect((await server.call('GET', '/manual', { token: null })).status).toBe(200);
  });

  it('who speaks plain HTTP is told to begin with https', async () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET /muster/nodes HTTP/1.1\r\nHost: x\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('This port speaks HTTPS: begin the URL with https://.');
  });

  it.each(['/health', '/docs', '/nodes', '/nodes/n1'])('may ask for the headers of %s alone', async (path) => {
    const whole = await server.call('GET', path);
    const head = await server.call('HEAD', path);
    expect([head.status, head.text]).toEqual([200, '']);
    for (const name of ['content-length', 'content-type', 'etag']) expect(head.headers[name]).toBe(whole.headers[name]);
  });

  it('who asks for the headers of what it may not see is refused', async () => {
    expect((await server.call('HEAD', '/nodes/n1', { token: null })).status).toBe(401);
    expect((await server.call('HEAD', '/nodes/n1', { root: '/xcatws' })).status).toBe(405);
    expect((await server.call('HEAD', '/health', { root: '/xcatws', token: null })).status).toBe(200);
  });
});
