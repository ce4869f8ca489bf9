import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeNamespace } from '../lab/netns.ts';
import { written } from '../harness/output.ts';
import { exitOf, runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser, logIn } from '../harness/users.ts';

/** What the server has sent on a connection so far. */
function answersOn(socket: TLSSocket): () => string {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return () => text;
}

/** The server says it to a request that asks for it, as soon as it has begun. */
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';
const asksToGoOn = 'Expect: 100-continue';

/** A request that never ends by itself. */
async function hangingRequest(server: TestServer) {
  const socket = await server.client.connect();
  socket.on('error', () => socket.destroy());
  const answers = answersOn(socket);
  const head = ['POST /muster/nodes/late HTTP/1.1', 'Host: x', `X-Auth-Token: ${server.token}`, asksToGoOn];
  socket.write(`${head.join('\r\n')}\r\nContent-Length: 16\r\n\r\n{"gro`);
  await expect.poll(answers).toBe(goOn);
  return { socket, answers };
}

/** Whoever is asked to stop takes no connections any more. */
const takesNobody = (server: TestServer) =>
  expect
    .poll(() =>
      server.client.connect().then(
        (socket) => socket.destroy() && 'connected',
        (error: unknown) => (error as NodeJS.ErrnoException).code,
      ),
    )
    .toBe('ECONNREFUSED');

/** A certificate for 127.0.0.1 that vouches for itself. */
function makeCertificate(directory: string, name: string): void {
  const files = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'certificate.pem')];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'ignore' });
}

describe('a running server', () => {
  let server: TestServer;
  const directories: string[] = [];
  const directory = (): string => {
    directories.push(temporaryDirectory());
    return directories.at(-1)!;
  };
  beforeAll(async () => {
    server = await startServer();
    await server.ok('POST', '/nodes/n1', { groups: 'all', mgt: 'ipmi', bmcpassword: 'kept-secret' });
  });
  afterAll(async () => {
    await server.stop();
    for (const each of directories) rmSync(each, { recursive: true, force: true });
  });

  it('says that it is up, to everybody, at both roots', async () => {
    for (const root of ['/muster', '/xcatws']) {
      const reply = await server.call('GET', '/health', { root, token: null });
      expect([reply.status, reply.json]).toEqual([200, { status: 'up', version: expect.any(String) }]);
    }
  });

  it('keeps a second one from its data', async () => {
    const { code, output } = await runMuster(['--data', server.data, '--listen', '127.0.0.1:0']);
    expect(code).toBe(1);
    expect(output).toContain(`The data directory ${server.data} is in use by process ${server.child.pid}.`);
    expect(output).not.toContain('    at ');
    expect((await server.call('GET', '/health')).status).toBe(200);
  });

  it('listens on all addresses of both kinds, with the same port', async () => {
    const namespace = makeNamespace();
    const both = await startServer({ namespace, listen: ['0.0.0.0:8443', '[::]:8443'] });
    try {
      const url = 'https://HOST:8443/muster/nodes';
      for (const host of ['127.0.0.1', '[::1]'])
        expect(namespace.run('curl', '-sk', '-H', `X-Auth-Token: ${both.token}`, url.replace('HOST', host))).toBe(
          '[]\n',
        );
    } finally {
      await both.stop();
      namespace.remove();
    }
  });

  it('knows IPv4 clients by their address where it listens on [::] alone', async () => {
    const namespace = makeNamespace();
    const wide = await startServer({ namespace, listen: ['[::]:8443'] });
    try {
      const url = 'https://127.0.0.1:8443/muster/tokens';
      namespace.run(
        'curl',
        '-sk',
        '-H',
        'Content-Type: application/json',
        url,
        '-d',
        '{"userName":"root","userPW":"x"}',
      );
      await expect.poll(() => wide.output()).toContain('"client":"127.0.0.1"');
      expect(await written(wide)).not.toContain('::ffff');
    } finally {
      await wide.stop();
      namespace.remove();
    }
  });

  it.each([[[]], [['serve']]])('keeps a second one from its port: muster %j', async (words) => {
    const { code, output } = await runMuster([...words, '--data', directory(), '--listen', `127.0.0.1:${server.port}`]);
    expect(code).toBe(1);
    expect(output).toMatch(/Cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/);
    expect(output).toContain('--listen HOST:PORT');
  });

  it.each([
    ['-tls1', false],
    ['-tls1_1', false],
    ['-tls1_2', true],
    ['-tls1_3', true],
  ])('speaks %s: %s', (version, spoken) => {
    const args = ['s_client', '-connect', `127.0.0.1:${server.port}`, version, '-cipher', 'DEFAULT@SECLEVEL=0'];
    const { status, stdout, stderr } = spawnSync('openssl', args, { input: '', encoding: 'utf8' });
    expect([version, status === 0, stdout + stderr]).toEqual([version, spoken, expect.any(String)]);
    if (!spoken) expect(stdout + stderr).toMatch(/alert|no protocols available/);
  });

  it('is copied while it runs, and the copy starts elsewhere with all of it', async () => {
    const file = join(directory(), 'copy');
    expect(await runMuster(['backup', file, '--data', server.data])).toEqual({ code: 0, output: '' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await server.ok('PUT', '/nodes/n1', { usercomment: 'after the copy' });
    const data = directory();
    expect(await runMuster(['restore', file, '--data', data])).toEqual({ code: 0, output: '' });
    const copy = await startServer({ data });
    try {
      const { n1 } = (await copy.call('GET', '/nodes/n1', { token: server.token })).json;
      expect(n1).toEqual({ bmcpassword: '********', groups: 'all', mgt: 'ipmi' });
      expect(readFileSync(join(data, 'tls/ca.pem'), 'utf8')).toBe(
        readFileSync(join(server.data, 'tls/ca.pem'), 'utf8'),
      );
    } finally {
      await copy.stop();
    }
  });

  it('cannot be restored over', async () => {
    const file = join(directory(), 'copy');
    const { code, output } = await runMuster(['restore', file, '--replace', '--data', server.data]);
    expect([code, output]).toEqual([1, expect.stringContaining('is in use by process')]);
  });
});

describe('SIGTERM', () => {
  it('lets running requests finish, takes no new ones, keeps the data and ends with 0', async () => {
    const data = temporaryDirectory();
    const server = await startServer({ data });
    const body = '{"groups":"all"}';
    const socket = await server.client.connect();
    const answers = answersOn(socket);
    const head = ['POST /muster/nodes/late HTTP/1.1', 'Host: x', `X-Auth-Token: ${server.token}`, asksToGoOn];
    socket.write(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
    await expect.poll(answers).toBe(goOn);
    server.child.kill('SIGTERM');
    await takesNobody(server);
    expect(server.child.exitCode).toBeNull();
    socket.write(`${body.slice(5)}GET /muster/nodes HTTP/1.1\r\nHost: x\r\n\r\n`);
    await expect.poll(answers).toContain('muster is shutting down');
    const answer = answers().slice(goOn.length);
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(answer).toMatch(/\r\n\r\nHTTP\/1\.1 503 [^]*\r\nConnection: close\r\n/);
    expect(await exitOf(server.child)).toBe(0);
    await server.stop();

    const again = await startServer({ data });
    expect((await again.call('GET', '/nodes', { token: server.token })).json).toEqual(['late']);
    await again.stop();
    rmSync(data, { recursive: true });
  });
});

describe('a signal to stop that comes twice', () => {
  it('is one request: running requests end as they would, and so does muster', async () => {
    const server = await startServer();
    const { socket, answers } = await hangingRequest(server);
    // Two of the same would be one for the kernel.
    server.child.kill('SIGINT');
    server.child.kill('SIGTERM');
    await takesNobody(server);
    socket.write('ups":"all"}');
    expect(await exitOf(server.child)).toBe(0);
    expect(answers().slice(goOn.length)).toMatch(/^HTTP\/1\.1 201 /);
    await server.stop();
  });

  it('hurries when it comes again after a while', async () => {
    const server = await startServer();
    const { socket } = await hangingRequest(server);
    server.child.kill('SIGTERM');
    const again = setInterval(() => server.child.kill('SIGTERM'), 500);
    expect(await exitOf(server.child)).toBe(0);
    clearInterval(again);
    await expect.poll(() => socket.destroyed || socket.readableEnded).toBe(true);
    expect(server.output()).toContain('ending running requests now');
    await server.stop();
  });
});

describe('a certificate of one’s own', () => {
  it('is served, and read again on SIGHUP, but not if it is broken', async () => {
    const data = temporaryDirectory();
    const tls = join(data, 'own');
    mkdirSync(tls);
    makeCertificate(tls, 'first');
    const file = join(tls, 'certificate.pem');
    const config = `[tls]\ncertificate = "${file}"\nkey = "own/key.pem"\n`;
    const server = await startServer({ data, config, ca: readFileSync(file, 'utf8') });
    const served = () =>
      spawnSync('openssl', ['s_client', '-connect', `127.0.0.1:${server.port}`], { input: '', encoding: 'utf8' })
        .stdout;
    try {
      expect(served()).toMatch(/CN ?= ?first/);
      expect(existsSync(join(data, 'tls'))).toBe(false);
      makeCertificate(tls, 'second');
      server.child.kill('SIGHUP');
      await expect.poll(() => server.output()).toContain('was reloaded');
      expect(served()).toMatch(/CN ?= ?second/);
      writeFileSync(file, 'no certificate');
      server.child.kill('SIGHUP');
      await expect.poll(() => server.output()).toContain('the old one stays');
      expect(served()).toMatch(/CN ?= ?second/);
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  });
});

describe('limits of one’s own', () => {
  let server: TestServer;
  beforeAll(async () => {
    const config = '[limits]\nmaxConnectionsPerAddress = 6\nmaxConcurrentPerUser = 2\n';
    server = await startServer({ config });
  });
  afterAll(() => server.stop());

  it('hold for requests of one user at a time', async () => {
    const user = await addUser(server, 'user');
    const pending: TLSSocket[] = [];
    for (let i = 0; i < 2; i++) {
      const socket = await server.client.connect();
      pending.push(socket);
      const answers = answersOn(socket);
      socket.write(`GET /muster/events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${server.token}\r\n\r\n`);
      await expect.poll(answers).toMatch(/^HTTP\/1\.1 200 /);
    }
    const third = await server.call('GET', '/nodes');
    expect([third.status, third.json.errorcode, third.headers['retry-after']]).toEqual([503, 5, '1']);
    expect((await server.call('GET', '/tokens', { token: user })).status).toBe(200);
    for (const socket of pending) socket.destroy();
    await expect.poll(async () => (await server.call('GET', '/nodes')).status).toBe(200);
  });

  it('hold for connections of one address', async () => {
    const sockets: TLSSocket[] = [];
    let refused = 0;
    for (let i = 0; i < 10; i++) {
      await server.client.connect().then(
        (socket) => sockets.push(socket),
        () => refused++,
      );
    }
    expect(refused).toBeGreaterThanOrEqual(4);
    expect(sockets.length).toBeLessThanOrEqual(6);
    for (const socket of sockets) socket.destroy();
    const health = async (): Promise<unknown> => (await server.call('GET', '/health').catch(() => undefined))?.status;
    await expect.poll(health).toBe(200);
  });
});

describe('the first start', () => {
  it('makes a password for root if none is given, for its owner’s eyes', async () => {
    const data = temporaryDirectory();
    const server = await startServer({ data, environment: { MUSTER_ROOT_PASSWORD: '' } });
    const file = join(data, 'initial-password');
    await expect.poll(() => server.output()).toContain(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const userPW = readFileSync(file, 'utf8').trim();
    expect(await written(server)).not.toContain(userPW);
    const login = await server.call('POST', '/tokens', { token: null, body: { userName: 'root', userPW } });
    expect(login.status).toBe(201);
    expect((await server.call('GET', '/policy/ALLRESOURCES', { token: login.json.token.id })).json).toEqual({
      1: { name: 'root', rule: 'allow' },
    });
    await server.stop();
    rmSync(data, { recursive: true });
  });

  it('leaves a file with root’s password that is there as long as root has it', async () => {
    const data = temporaryDirectory();
    const file = join(data, 'initial-password');
    const row = '/tables/passwd/rows/key=xcat,username=root';
    const first = await startServer({ data, environment: { MUSTER_ROOT_PASSWORD: '' } });
    await first.stop();
    const server = await startServer({ data });
    const query = { userName: 'root', userPW: readFileSync(file, 'utf8').trim() };
    for (const body of [{ comments: 'x' }, { password: '********' }]) {
      await server.ok('PUT', row, body, { token: null, query });
      expect(existsSync(file)).toBe(true);
    }
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=other', { password: 'x' }, { token: null, query });
    expect(existsSync(file)).toBe(true);
    await server.ok('PUT', row, { password: 'changed' }, { token: null, query });
    expect(existsSync(file)).toBe(false);
    await server.stop();
    expect(server.output()).toContain(`${file} was removed`);
    rmSync(data, { recursive: true });
  });

  it('leaves it until the next start if the password is changed meanwhile', async () => {
    const data = temporaryDirectory();
    const dump = temporaryDirectory();
    const file = join(data, 'initial-password');
    await (await startServer({ data, environment: { MUSTER_ROOT_PASSWORD: '' } })).stop();
    writeFileSync(join(dump, 'passwd.csv'), '#key,username,password\n"xcat","root","imported"\n');
    expect(await runMuster(['import', dump, '--replace', '--data', data])).toMatchObject({ code: 0 });
    const server = await startServer({ data });
    expect(existsSync(file)).toBe(false);
    await logIn(server, 'root', 'imported');
    await server.stop();
    for (const each of [data, dump]) rmSync(each, { recursive: true });
  });
});
