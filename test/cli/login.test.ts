import { readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atTerminal, ended, muster } from '../harness/muster-command.ts';
import { rootPassword, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

let server: TestServer;
let home: string;
const run = (words: readonly string[], env: Record<string, string> = {}, input = '') =>
  ended(muster, words, { HOME: home, ...env }, input);
const terminal = (words: readonly string[], steps: readonly (readonly [string, string])[] = []) =>
  atTerminal(words, { HOME: home }, steps);
const file = () => join(home, '.config/muster/contexts.json');
const contexts = () => JSON.parse(readFileSync(file(), 'utf8'));
const url = () => `https://127.0.0.1:${server.port}`;
const answers: readonly (readonly [string, string])[] = [
  ['Is it the same? [y/N] ', 'y\r'],
  ['Password of root', `${rootPassword}\r`],
];

beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
  home = temporaryDirectory();
});
afterAll(async () => {
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

describe('muster login', { timeout: 90_000 }, () => {
  it('shows the authority at first use, keeps it, and never shows the password', async () => {
    const { code, screen } = await terminal(['login', url(), '--user', 'root', '--context', 'here'], answers);
    expect(code).toBe(0);
    const { X509Certificate } = await import('node:crypto');
    const ca = new X509Certificate(readFileSync(join(server.data, 'tls/ca.pem')));
    expect(screen).toContain(`  ${ca.fingerprint256}\n`);
    expect(screen).toContain(`Logged in to 127.0.0.1:${server.port} as root, until `);
    expect(screen).not.toContain(rootPassword);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(new X509Certificate(contexts().contexts.here.ca).fingerprint256).toBe(ca.fingerprint256);
    expect(await run(['lsdef'])).toEqual({ code: 0, stdout: 'n1  (node)\n', stderr: '' });
  });

  it('asks only for the password where the authority is known', async () => {
    const { code, screen } = await terminal(['login', url(), '--user', 'root', '--context', 'here'], answers.slice(1));
    expect([code, screen]).toEqual([0, expect.not.stringContaining('fingerprint')]);
  });

  it('knows the authority of a server by whatever name it is called', async () => {
    const words = ['login', url(), '--user', 'root', '--context', 'again'];
    const { code, screen } = await terminal(words, answers.slice(1));
    expect([code, screen]).toEqual([0, expect.not.stringContaining('fingerprint')]);
    expect((await run(['logout', '--context', 'again', '--forget'])).code).toBe(0);
    expect((await run(['contexts', 'here'])).code).toBe(0);
  });

  it('sends no password where the authority is not agreed to', async () => {
    const words = ['login', url(), '--user', 'root', '--context', 'other'];
    const { code, screen } = await atTerminal(words, { HOME: temporaryDirectory() }, [['[y/N] ', '\r']]);
    expect([code, screen]).toEqual([3, expect.stringContaining('was not agreed to')]);
    expect(screen).not.toContain('Password');
  });

  it('refuses a wrong password', async () => {
    const steps = [['Password of root', 'wrong\r']] as const;
    const { code, screen } = await terminal(['login', url(), '--user', 'root', '--context', 'here'], steps);
    expect([code, screen]).toEqual([3, expect.stringContaining('muster login: ')]);
  });

  it('is possible in scripts, with a fingerprint', async () => {
    const words = ['login', url(), '--user', 'root', '--context', 'script', '--password-stdin'];
    const stranger = { HOME: temporaryDirectory() };
    const refused = await run(words, stranger, `${rootPassword}\n`);
    expect(refused.code).toBe(2);
    const fingerprint = /fingerprint is ([0-9A-F:]{95});/.exec(refused.stderr)![1]!;
    const other = fingerprint.replace(/^../, (byte) => (byte === '00' ? '11' : '00'));
    for (const env of [stranger, {}])
      expect((await run([...words, '--fingerprint', other], env, rootPassword)).code).toBe(3);
    const done = await run(
      [...words, '--fingerprint', fingerprint.replaceAll(':', '').toLowerCase()],
      {},
      rootPassword,
    );
    expect([done.code, done.stderr]).toEqual([0, '']);
  });

  it('refuses another authority than the one that was kept', async () => {
    const other = await startServer();
    try {
      const { changeContexts, readContexts } = await import('../../src/cli/places.ts');
      const { ca } = readContexts({ HOME: home }).contexts['here']!;
      const changed = { url: `https://127.0.0.1:${other.port}`, token: other.token, ca: ca! };
      changeContexts({ HOME: home }, (all) => ({ ...all, contexts: { ...all.contexts, changed } }));
      const { code, screen } = await terminal(['login', changed.url, '--user', 'root', '--context', 'changed']);
      expect([code, screen]).toEqual([3, expect.stringContaining('its certificate authority has changed')]);
      expect(screen).not.toContain('Password');
      expect((await run(['lsdef'], { MUSTER_CONTEXT: 'changed' })).code).toBe(111);
      expect((await run(['logout', '--context', 'changed', '--forget'])).stdout).toBe('changed is forgotten.\n');
      expect(contexts().contexts).not.toHaveProperty('changed');
    } finally {
      await other.stop();
    }
  });

  it('says what is wrong with a URL', async () => {
    for (const [given, code, said] of [
      ['http://127.0.0.1:1', 2, 'over HTTPS only'],
      ['https://[', 2, 'is no URL'],
      ['https://127.0.0.1:1', 3, 'Connection refused'],
    ] as const)
      expect(await run(['login', given])).toMatchObject({ code, stderr: expect.stringContaining(said) });
    const plain = createServer((socket) => socket.end('hello\r\n'));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const { port } = plain.address() as { port: number };
    const reply = await run(['login', `https://127.0.0.1:${port}`]);
    plain.close();
    expect(reply).toMatchObject({ code: 3, stderr: expect.stringContaining('does not speak TLS') });
  });

  it('has to be repeated when its time is over, and every command says so', async () => {
    const lifetime = '/globalconf/attrs/tokenexpiredays';
    await server.ok('PUT', lifetime, { tokenexpiredays: '0.00001' });
    const short = ['login', url(), '--user', 'root', '--context', 'short', '--password-stdin'];
    expect((await run(short, { MUSTER_CA: join(server.data, 'tls/ca.pem') }, rootPassword)).code).toBe(0);
    await server.ok('DELETE', lifetime);
    const { token } = contexts().contexts.short;
    await expect.poll(async () => (await server.call('GET', '/nodes', { token })).status).toBe(401);
    const sentence = 'The token is not known or has expired; muster login gives a new one.';
    expect(await run(['lsdef'], { MUSTER_CONTEXT: 'short' })).toEqual({
      code: 1,
      stdout: '',
      stderr: `Error: Authentication failure\nError: ${sentence}\n`,
    });
    const said = [
      'muster runs: Authentication failure',
      `muster runs: ${sentence}`,
      `muster runs: Log in again: muster login ${url()}`,
      '',
    ].join('\n');
    expect(await run(['runs'], { MUSTER_CONTEXT: 'short' })).toEqual({ code: 3, stdout: '', stderr: said });
    expect(await atTerminal(['runs'], { HOME: home, MUSTER_CONTEXT: 'short' })).toEqual({ code: 3, screen: said });
    expect((await run(['logout', '--context', 'short', '--forget'])).code).toBe(0);
  });

  it('lists contexts and changes between them', async () => {
    expect((await run(['contexts', 'here'])).code).toBe(0);
    expect((await run(['contexts'])).stdout).toBe(`* here    ${url()}  root\n  script  ${url()}  root\n`);
    expect(await run(['contexts', 'nosuch'])).toMatchObject({ code: 2, stderr: expect.stringContaining('no context') });
  });

  it('ends: the token is worth nothing afterwards', async () => {
    const { token } = contexts().contexts.here;
    expect(await run(['logout'])).toMatchObject({ code: 0, stdout: 'Logged out of here.\n' });
    expect((await server.call('GET', '/nodes', { token })).status).toBe(401);
    expect(contexts().contexts.here).toMatchObject({ url: url(), user: 'root' });
    expect(contexts().contexts.here).not.toHaveProperty('token');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });
});
