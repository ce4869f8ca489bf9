import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atTerminal, ended, muster } from '../harness/muster-command.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

let server: TestServer;
let env: Record<string, string>;
const run = (...words: string[]) => ended(muster, words, env);

beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1-n3', { groups: 'all', mgt: 'ipmi' });
  env = {
    HOME: server.data,
    MUSTER_URL: `https://127.0.0.1:${server.port}`,
    MUSTER_TOKEN: server.token,
    MUSTER_CA: join(server.data, 'tls/ca.pem'),
  };
});
afterAll(() => server.stop());

const newest = async (): Promise<number> => (await server.ok('GET', '/changes?limit=1')).changes[0].id;

describe('changes and undo', { timeout: 120_000 }, () => {
  it('lists, shows and compares', async () => {
    await server.ok('PUT', '/nodes/n1', { arch: 'x86_64', bmcpassword: 'hidden' });
    const id = await newest();
    const { code, stdout } = await run('changes', 'n1', '--limit', '1');
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${id}  \\S+Z  root@127\\.0\\.0\\.1  \\S+  2 rows in \\S+\\n$`));
    const shown = await run('changes', 'show', String(id));
    expect(shown.stdout).toContain('nodetype node=n1 (new)\n+  arch=x86_64\n');
    expect(shown.stdout).toContain('+  password=********');
    expect(shown.stdout).not.toContain('hidden');
    expect((await run('changes', 'diff', String(id - 1), String(id), 'n1', '--table', 'nodetype')).stdout).toBe(
      'nodetype node=n1 (new)\n+  arch=x86_64\n',
    );
    expect(JSON.parse((await run('changes', '--format', 'json', '--limit', '1')).stdout).changes[0].id).toBe(id);
    const inZone = (...words: string[]) => ended(muster, ['changes', ...words], { ...env, TZ: 'Etc/GMT-10' });
    expect((await inZone('n1', '--since', '2026-01-01', '--limit', '1')).stdout).toMatch(new RegExp(`^${id} `));
    expect((await inZone('n1', '--limit', '1')).stdout).toMatch(/^\d+ {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+10:00 {2}/);
    expect((await inZone('n1', '--until', '2026-01-01')).stdout).toBe('');
    expect((await inZone('diff', '2026-99-99')).stderr).toContain('give a revision');
  });

  it('takes back a change, at a terminal only when that is agreed to', async () => {
    await server.ok('PUT', '/nodes/n2', { arch: 'aarch64' });
    const id = String(await newest());
    const arch = async () => (await server.ok('GET', '/nodes/n2')).n2.arch;
    expect((await run('undo', id, '--dry-run')).stdout).toBe('nodetype node=n2 (removed)\n-  arch=aarch64\n');
    const refused = await atTerminal(['undo', id], env, [['Take it back? [y/N] ', 'n\r']]);
    expect([refused.code, refused.screen]).toEqual([1, expect.stringContaining('\u001B[31m-  arch=aarch64\u001B[0m')]);
    expect(await arch()).toBe('aarch64');
    const plain = await atTerminal(['undo', id], { ...env, NO_COLOR: '1' }, [['[y/N] ', '\u0003']]);
    expect([plain.code, plain.screen]).toEqual([1, expect.stringContaining('\n-  arch=aarch64\n')]);
    expect(await arch()).toBe('aarch64');
    expect((await atTerminal(['undo', id], env, [['[y/N] ', 'y\r']])).code).toBe(0);
    expect(await arch()).toBeUndefined();
    expect(await run('undo', id)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^muster undo: /) });
  });

  it('without a number takes back the last change of the caller that is not taken back, and shows it', async () => {
    const rack = async () => (await server.ok('GET', '/nodes/n3')).n3.rack;
    await server.ok('PUT', '/tables/policy/rows/priority=4.2', { name: 'anna', rule: 'allow' });
    const token = await addUser(server, 'anna');
    const asAnna = { ...env, MUSTER_TOKEN: token };
    expect(await ended(muster, ['undo'], asAnna)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no change of yours to take back'),
    });
    for (const value of ['r1', 'r2', 'r3']) await run('chdef', 'n3', `rack=${value}`);
    const id = await newest();
    await server.ok('PUT', '/nodes/n1', { room: 'x' }, { token });
    const rows = 'nodepos node=n3\\n-  rack=r3\\n\\+  rack=r2\\n';
    expect((await run('undo', '--dry-run')).stdout).toMatch(new RegExp(`^${id} .*\\n${rows}$`));
    const done = `Change ${id} is taken back by change \\d+: 1 row.\\n`;
    expect(await run('undo')).toEqual({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(new RegExp(`^${id} .*\\n${rows}${done}$`)),
    });
    const asked = await atTerminal(['undo'], { ...env, NO_COLOR: '1' }, [['Take it back? [y/N] ', 'n\r']]);
    expect([asked.code, asked.screen, await rack()]).toEqual([1, expect.stringContaining('-  rack=r2'), 'r2']);
    await run('undo');
    expect(await rack()).toBe('r1');
    // Who takes back an undo has what it took back again, and may take that back once more.
    await run('undo', String(await newest()));
    expect([await rack(), (await run('undo')).code, await rack()]).toEqual(['r2', 0, 'r1']);
    await run('chdef', 'n3', 'rack=');
  });

  it('says how it is called wrongly, and what is not allowed', async () => {
    expect(await run('undo', '1', '2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Call muster undo -h for help.'),
    });
    expect((await run('changes', '--nosuch')).code).toBe(2);
    expect((await ended(muster, ['changes'], { ...env, MUSTER_TOKEN: 'ended' })).code).toBe(3);
    expect((await ended(muster, ['changes'], { ...env, MUSTER_URL: 'https://127.0.0.1:1' })).code).toBe(3);
    for (const each of ['changes', 'undo', 'runs', 'explain', 'events', 'login', 'logout', 'contexts'])
      expect(await run(each, '-h')).toMatchObject({ code: 0, stdout: expect.stringMatching(`^Usage: muster ${each}`) });
  });
});

describe('explain', { timeout: 90_000 }, () => {
  it('tells where a value comes from', async () => {
    await server.ok('PUT', '/groups/all', { mgt: 'ipmi', bmc: '|n(\\d+)|10.1.0.($1)|' });
    expect((await run('explain', 'n3', 'bmc')).stdout).toBe(
      'n3: bmc=10.1.0.3, from the group all (ipmi.bmc), by |n(\\d+)|10.1.0.($1)|\n',
    );
    expect((await run('explain', 'n3', 'rack')).stdout).toBe('n3: rack is not set\n');
  });

  it('tells why an account may not', async () => {
    const words = ['explain', '--user', 'nobody', '--command', 'rpower', 'n1'];
    expect(await run(...words)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^nobody may not run rpower on n1/),
    });
    expect((await run('explain', '--user', 'root', '--command', 'rpower')).code).toBe(0);
  });
});

describe('what the server accepts though it looks wrong', () => {
  it('is a warning of the command that did it, all of it in the run', async () => {
    const words = ['chdef', 'n1', 'mgt=impi', 'provmethod=nosuch'];
    const { code, screen } = await atTerminal(words, env);
    expect(code).toBe(0);
    const [, id] = /^Warning: .* \(1 more: muster runs show (\S+)\)$/m.exec(screen.replaceAll('\r', ''))!;
    expect((await run(...words)).stderr).toBe('');
    const { stdout } = await run('runs', 'show', id!);
    expect(stdout.match(/^Warning: .*(impi|nosuch).*$/gm)).toHaveLength(2);
    await run('chdef', 'n1', 'mgt=ipmi', 'provmethod=');
  });
});

describe('runs', { timeout: 90_000 }, () => {
  it('are shown and followed to their end', async () => {
    const reply = await server.call('GET', '/nodes/n1-n3');
    const id = String(reply.headers['x-muster-run']);
    expect((await run('runs', 'show', id)).stdout).toContain(`${id}  lsdef by root  finished`);
    expect((await run('runs', 'attach', id)).code).toBe(0);
    expect(await run('runs', 'show', 'nosuch')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^muster runs: /),
    });
    expect((await run('runs', 'nosuch', id)).code).toBe(2);
  });
});

describe('events', { timeout: 90_000 }, () => {
  it('come as they happen, until Ctrl-C', async () => {
    const child = spawn(muster, ['events', '--kinds', 'change', '--format', 'ndjson'], {
      env: { PATH: process.env['PATH']!, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    const seen = (what: string) =>
      new Promise<void>((resolve) => {
        const look = () => text.includes(what) && resolve();
        child.stdout.on('data', look);
        look();
      });
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await seen('"kind":"ready"');
    await server.ok('PUT', '/nodes/n1', { rack: 'r7' });
    await seen('"rack":"r7"');
    const code = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGINT');
    expect(await code).toBe(0);
    const { id } = JSON.parse(text.trim().split('\n').at(-1)!);
    await server.ok('PUT', '/nodes/n2', { rack: 'r8' });
    const later = await run('events', '--after', id, '--kinds', 'change', '--seconds', '1');
    expect(later.stdout).toMatch(/^\S+Z {2}change \d+ by root \(\S+\): nodepos n2 \(new\) rack=r8\n$/);
  });
});
