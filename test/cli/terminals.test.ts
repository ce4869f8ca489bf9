import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atTerminal, ended, muster } from '../harness/muster-command.ts';
import { exitOf, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

let server: TestServer;
let home: string;
/** A BMC that never answers, so that commands stay in the middle of their work. */
let silent: Socket;

beforeAll(async () => {
  silent = createSocket('udp4').bind(0, '127.0.0.1');
  await once(silent, 'listening');
  home = temporaryDirectory();
  server = await startServer();
  await defineSilent(server);
});
afterAll(async () => {
  await server.stop();
  silent.close();
  rmSync(home, { recursive: true, force: true });
});

const defineSilent = (where: TestServer): Promise<unknown> =>
  where.ok('POST', '/nodes/s1-s3', {
    groups: 'silent',
    mgt: 'ipmi',
    bmc: '127.0.0.1',
    bmcport: String(silent.address().port),
    bmcusername: 'admin',
    bmcpassword: 'secret',
  });
const environment = (where = server) => ({ HOME: home, MUSTER_SOCKET: join(where.data, 'muster.sock') });
const run = (...words: string[]) => ended(muster, words, environment());

describe('a terminal', { timeout: 300_000 }, () => {
  it('that takes little at a time gets everything', async () => {
    await server.ok('POST', '/nodes/m[1000-3999]', { groups: 'many' });
    const piped = await run('lsdef', 'many');
    expect(piped.stdout.length).toBeGreaterThan(100_000);
    const { code, screen } = await atTerminal(['lsdef', 'many'], environment(), [], { pieces: 64 });
    expect([code, screen === piped.stdout]).toEqual([0, true]);
    await server.ok('DELETE', '/nodes/many');
  });

  it('that is narrow has its progress on one line', async () => {
    const { screen } = await atTerminal(['rpower', 's1-s3', 'stat'], environment(), [], { columns: 20 });
    const lines = screen.split('\r\u001B[K').filter((line) => line.includes(' done'));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line.length).toBeLessThan(20);
    // It is gone in the end, and none is drawn where nobody looks.
    expect(screen.slice(screen.lastIndexOf('\r\u001B[K'))).not.toContain(' done');
    expect((await run('rpower', 's1-s3', 'stat')).stderr).not.toContain(' done');
  });

  it('has colours, unless it is asked for none', async () => {
    await server.ok('POST', '/nodes/c1', { groups: 'grey' });
    await server.ok('PUT', '/nodes/c1', { usercomment: 'seen' });
    const { stdout } = await run('changes', 'c1', '--format', 'ndjson');
    const undo = ['undo', String(JSON.parse(stdout.split('\n')[0]!).id), '--dry-run'];
    const red = '\u001B[31m';
    expect((await atTerminal(undo, environment())).screen).toContain(red);
    for (const plain of [{ NO_COLOR: '1' }, { TERM: 'dumb' }])
      expect((await atTerminal(undo, { ...environment(), ...plain })).screen).not.toContain('\u001B');
    const piped = await run(...undo);
    expect([piped.code, piped.stdout.includes('seen'), piped.stdout.includes('\u001B')]).toEqual([0, true, false]);
  });

  it('is told what may have been meant by a name that nothing has; scripts are not', async () => {
    await server.ok('POST', '/nodes/m1-m3', { groups: 'rack1' });
    const line = 'Error: Invalid nodes and/or groups in noderange: rakc1\n';
    expect(await run('nodels', 'rakc1')).toEqual({ code: 1, stdout: '', stderr: line });
    const { code, screen } = await atTerminal(['nodels', 'rakc1'], environment());
    expect([code, screen]).toEqual([1, `${line}There is no rakc1. Did you mean rack1?\n`]);
    expect((await atTerminal(['lsdef', 'n1x'], environment())).screen).not.toContain('Did you mean');
    expect((await atTerminal(['lsdef', 'rakc1'], environment())).screen).toContain('Did you mean rack1?');
    // Who may not see the nodes of a group is not told of it.
    await server.ok('POST', '/nodes/own1', { groups: 'theirs' });
    const rules = { name: 'limited', rule: 'allow', noderange: 'own1' };
    await server.ok('PUT', '/tables/policy/rows/priority=4.1', rules);
    const env = { ...environment(), MUSTER_TOKEN: await addUser(server, 'limited') };
    expect((await atTerminal(['nodels', 'rakc1'], env)).screen).not.toContain('rack1');
  });
});

describe('a server that cannot be reached', { timeout: 120_000 }, () => {
  it('is reported as callers of xCAT know it, and by what muster adds in a sentence', async () => {
    const env = { HOME: home, MUSTER_URL: 'https://127.0.0.1:1', MUSTER_TOKEN: 'none' };
    expect(await ended(muster, ['lsdef'], env)).toEqual({
      code: 111,
      stdout:
        'Unable to open socket connection to xcatd daemon on 127.0.0.1:1.\n' +
        'Verify that the xcatd daemon is running and that your SSL setup is correct.\n',
      stderr: 'Connection failure: Connection refused\n',
    });
    expect(await ended(muster, ['changes'], env)).toEqual({
      code: 3,
      stdout: '',
      stderr: 'muster changes: The server at 127.0.0.1:1 cannot be reached: Connection refused.\n',
    });
  });

  it('any more, in the middle of the work on nodes, is told and ends the command', async () => {
    const other = await startServer();
    await defineSilent(other);
    const asked = once(silent, 'message');
    const command = ended(muster, ['rpower', 's1-s3', 'stat'], environment(other));
    await asked;
    other.child.kill('SIGKILL');
    await exitOf(other.child);
    other.client.close();
    const { code, stderr } = await command;
    expect([code, stderr]).toEqual([111, expect.stringMatching(/^Connection failure: \S.*\n$/)]);
    rmSync(other.data, { recursive: true, force: true });
  });
});
