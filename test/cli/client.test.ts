import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

const muster = join(import.meta.dirname, '../../bin/muster');

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let server: TestServer;
let home: string;
beforeAll(async () => {
  home = temporaryDirectory();
  server = await startServer();
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all' });
});
afterAll(() => server.stop());

function run(words: readonly string[], env: Record<string, string>, program = muster, user?: number): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, {
      env: { PATH: process.env['PATH']!, HOME: home, ...env },
      ...(user === undefined ? {} : { uid: user, gid: user }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const out = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].on('data', (chunk: Buffer) => (out[stream] += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...out }));
  });
}

const names = 'n1  (node)\nn2  (node)\nn3  (node)\n';
const secure = () => ({
  MUSTER_URL: `https://127.0.0.1:${server.port}`,
  MUSTER_TOKEN: server.token,
  MUSTER_CA: join(server.data, 'tls/ca.pem'),
});
const socket = () => ({ MUSTER_SOCKET: join(server.data, 'muster.sock') });

describe('the way to the server', { timeout: 90_000 }, () => {
  it('is TLS with a token', async () => {
    expect(await run(['lsdef'], secure())).toEqual({ code: 0, stdout: names, stderr: '' });
  });

  it('is that of a context that was logged in to', async () => {
    const { MUSTER_URL: url, MUSTER_TOKEN: token } = secure();
    const { readFileSync } = await import('node:fs');
    const ca = readFileSync(join(server.data, 'tls/ca.pem'), 'utf8');
    const config = join(home, 'config');
    mkdirSync(join(config, 'muster'), { recursive: true });
    const contexts = { current: 'here', contexts: { here: { url, token, ca } } };
    writeFileSync(join(config, 'muster/contexts.json'), JSON.stringify(contexts));
    expect(await run(['lsdef'], { XDG_CONFIG_HOME: config })).toEqual({ code: 0, stdout: names, stderr: '' });
  });

  it('is the socket of this machine, where root needs no login', async () => {
    expect(await run(['lsdef'], socket())).toEqual({ code: 0, stdout: names, stderr: '' });
    const rows = await server.ok('GET', '/tables/auditlog/rows');
    const last = rows.auditlog.findLast((row: { command: string }) => row.command === 'lsdef');
    expect(last).toMatchObject({ userid: 'root', status: 'Allowed (by the socket of this machine)' });
  });

  it('is refused without a known authority', async () => {
    const { MUSTER_CA: _, ...others } = secure();
    const { code, stdout, stderr } = await run(['lsdef'], others);
    expect([code, stdout.split('\n')[0]]).toEqual([
      111,
      `Unable to open socket connection to xcatd daemon on 127.0.0.1:${server.port}.`,
    ]);
    expect(stderr).toMatch(
      /^Connection failure: its certificate is not trusted; muster login shows it and asks\. .*\n$/,
    );
  });

  it('says what is wrong with a token', async () => {
    const { code, stderr } = await run(['lsdef'], { ...secure(), MUSTER_TOKEN: 'nosuch' });
    expect(code).toBe(1);
    expect(stderr).toBe(
      'Error: Authentication failure\nError: The token is not known or has expired; muster login gives a new one.\n',
    );
  });
});

describe('the socket', { timeout: 90_000 }, () => {
  it('refuses other users with a sentence', async () => {
    chmodSync(server.data, 0o711);
    const { code, stderr } = await run(['lsdef'], socket(), muster, 65_534);
    expect([code, stderr]).toEqual([1, expect.stringContaining('Only root of this machine needs no login here.')]);
  });

  it('takes the tokens of other users', async () => {
    const env = { ...socket(), MUSTER_TOKEN: server.token };
    expect(await run(['lsdef'], env, muster, 65_534)).toEqual({ code: 0, stdout: names, stderr: '' });
  });

  it('knows users by the accounts of their names where it should', async () => {
    const own = await startServer({ config: '[socket]\naccounts = true\n' });
    try {
      chmodSync(own.data, 0o711);
      await own.ok('POST', '/nodes/n1', { groups: 'all' });
      const env = { MUSTER_SOCKET: join(own.data, 'muster.sock') };
      const { stderr } = await run(['lsdef'], env, muster, 65_534);
      expect(stderr).toContain('There is no account "nobody" for you');
      await own.ok('PUT', '/tables/passwd/rows/key=xcat,username=nobody', { password: 'x' });
      expect((await run(['lsdef'], env, muster, 65_534)).code).toBe(1);
      await own.ok('POST', '/policy/5', { name: 'nobody', commands: 'lsdef', rule: 'allow' });
      expect(await run(['lsdef'], env, muster, 65_534)).toEqual({ code: 0, stdout: 'n1  (node)\n', stderr: '' });
    } finally {
      await own.stop();
    }
  });

  it('is there again after a server that was killed', async () => {
    const own = await startServer();
    own.child.kill('SIGKILL');
    await new Promise((resolve) => own.child.once('close', resolve));
    const again = await startServer({ data: own.data });
    try {
      expect((await run(['lsdef', '-t', 'policy'], { MUSTER_SOCKET: join(own.data, 'muster.sock') })).code).toBe(0);
    } finally {
      await again.stop();
    }
  });
});

describe('the program', { timeout: 90_000 }, () => {
  it('is the command that a link to it is named like', async () => {
    const links = join(home, 'links');
    expect(await run(['links', links], {})).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(links)).toEqual(expect.arrayContaining(['lsdef', 'mkdef', 'chdef', 'rmdef']));
    expect(readdirSync(links)).not.toContain('links');
    expect(await run([], secure(), join(links, 'lsdef'))).toEqual({ code: 0, stdout: names, stderr: '' });
    const relative = join(home, 'chdef');
    symlinkSync('links/chdef', relative);
    expect(await run(['-v'], {}, relative)).toMatchObject({ code: 0, stdout: 'chdef - Version 2.19.0\n' });
  });

  it('leaves files alone that are in the way of links', async () => {
    const links = join(home, 'occupied');
    mkdirSync(links);
    writeFileSync(join(links, 'lsdef'), 'mine');
    const { code, stderr } = await run(['links', links], {});
    expect([code, stderr]).toEqual([1, `muster links: ${join(links, 'lsdef')} is there already and stays as it is.\n`]);
  });

  it('lists its commands, and knows no others', async () => {
    const { stdout } = await run(['help'], {});
    expect(stdout).toMatch(/^ {2}lsdef +List definitions$/m);
    expect(await run(['nosuch'], {})).toMatchObject({ code: 2, stderr: expect.stringContaining('"nosuch"') });
  });

  it('tells that nothing can be written', async () => {
    const words = ['-c', `"${muster}" lsdef > /dev/full`];
    const { code, stderr } = await run(words, secure(), '/bin/sh');
    expect([code, stderr]).toEqual([1, 'Error: Cannot write to standard output: No space left on device.\n']);
  });

  it('ends in silence when nobody reads any more', async () => {
    await server.ok('POST', '/nodes/m[10000-29999]', { groups: 'many' });
    const words = ['-c', `"${muster}" lsdef many | head -1; "${muster}" lsdef -s many | wc -l`];
    const { stdout, stderr } = await run(words, secure(), '/bin/sh');
    expect([stdout, stderr]).toEqual(['Object name: m10000\n20000\n', '']);
    await server.ok('DELETE', '/nodes/many');
  });
});
