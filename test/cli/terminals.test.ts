import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
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

  it('shows what to do next when the server is started for the first time', async () => {
    const data = temporaryDirectory();
    const words = ['serve', '--data', data, '--listen', '127.0.0.1:0'];
    const quiet = { ...environment(), MUSTER_DNS_DAEMON: 'none', MUSTER_DHCP_DAEMON: 'none' };
    const first = await atTerminal(words, quiet, [['shows how to go on', '\x03']], { columns: 200 });
    expect(first).toMatchObject({
      code: 0,
      screen: expect.stringMatching(/Next, in another terminal.*\n {2}1\. .* doctor\n {2}2\. /),
    });
    const second = await atTerminal(words, quiet, [['The manual is at', '\x03']], { columns: 200 });
    expect(second.screen).not.toContain('Next, in another terminal');
    rmSync(data, { recursive: true });
  });

  it('asks before much is removed, unless it was agreed to before', async () => {
    await server.ok('POST', '/nodes/r1-r9', { groups: 'removable' });
    const there = async () => (await run('nodels', 'removable')).stdout.split('\n').length - 1;
    for (const argv of [
      ['noderm', 'removable'],
      ['rmdef', 'r1-r9,r99'],
      ['tabprune', 'nodelist', '-a'],
    ]) {
      const { code, screen } = await atTerminal(argv, environment(), [['[y/N] ', 'n\r']]);
      expect([argv, code, screen]).toEqual([argv, 1, expect.stringContaining('Nothing was removed.')]);
      expect([argv, await there()]).toEqual([argv, 9]);
    }
    const { code, screen } = await atTerminal(['noderm', 'r1'], environment());
    expect([code, screen, await there()]).toEqual([0, '', 8]);
    await server.ok('POST', '/nodes/r1', { groups: 'removable' });
    const agreed = await atTerminal(['noderm', 'removable'], environment(), [
      ['Remove 9 nodes (r[1-9])? [y/N] ', 'y\r'],
    ]);
    expect([agreed.code, await there()]).toEqual([0, 0]);
    await server.ok('POST', '/nodes/r1-r9', { groups: 'removable' });
    expect((await atTerminal(['rmdef', 'removable', '--yes'], environment())).screen).not.toContain('[y/N]');
  });

  it('asks before the whole site is removed', async () => {
    const attributes = Array.from({ length: 9 }, (_, index) => `own${index}=x`);
    expect((await run('chdef', '-t', 'site', ...attributes)).code).toBe(0);
    const { code, screen } = await atTerminal(['rmdef', '-t', 'site'], environment(), [['[y/N] ', 'n\r']]);
    expect([code, screen]).toEqual([1, expect.stringMatching(/Remove all \d+ attributes of the site\?/)]);
    expect((await run('lsdef', '-t', 'site', '-i', 'own8', '-c')).stdout).toBe('clustersite: own8=x\n');
    await run('chdef', '-t', 'site', ...attributes.map((word) => word.slice(0, -1)));
  });

  it('asks before a file takes many rows from a table', async () => {
    await server.ok('POST', '/nodes/r1-r9', { groups: 'kept' });
    const directory = join(home, 'dump');
    mkdirSync(directory);
    const file = join(directory, 'nodelist.csv');
    for (const argv of [
      ['tabrestore', file],
      ['restorexCATdb', '-p', directory],
    ]) {
      writeFileSync(file, '#node,groups\n');
      const { code, screen } = await atTerminal(argv, environment(), [['[y/N] ', 'n\r']]);
      expect([argv, code, screen]).toEqual([argv, 1, expect.stringMatching(/Remove \d+ rows .*nodelist \d+/)]);
      expect((await run('nodels', 'kept')).stdout.split('\n').length - 1).toBe(9);
      writeFileSync(file, (await run('tabdump', 'nodelist')).stdout);
      expect((await atTerminal(argv, environment())).screen).not.toContain('[y/N]');
    }
    await server.ok('DELETE', '/nodes/kept');
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

  it('shows, as a pipe does, what may have been meant by a name that nothing has', async () => {
    await server.ok('POST', '/nodes/m1-m3', { groups: 'rack1' });
    await server.ok('POST', '/osimages/rocky9-compute', { imagetype: 'linux', provmethod: 'netboot' });
    const said = 'Error: Invalid nodes and/or groups in noderange: rakc1\nThere is no rakc1. Did you mean rack1?\n';
    expect(await run('nodels', 'rakc1')).toEqual({ code: 1, stdout: '', stderr: said });
    const { code, screen } = await atTerminal(['nodels', 'rakc1'], environment());
    expect([code, screen]).toEqual([1, said]);
    expect((await atTerminal(['lsdef', 'n1x'], environment())).screen).not.toContain('Did you mean');
    for (const [argv, meant] of [
      [['lsdef', 'rakc1'], 'There is no rakc1. Did you mean rack1?'],
      [['lsdef', '-t', 'osimage', '-o', 'roky9-compute'], 'There is no roky9-compute. Did you mean rocky9-compute?'],
      [['lsdef', 'm1', '-i', 'grops'], 'There is no grops. Did you mean groups?'],
      [['chdef', 'm1', 'usercoment=x'], 'There is no usercoment. Did you mean usercomment?'],
      [['nodech', 'm1', 'nodepos.rakc=r1'], 'There is no nodepos.rakc. Did you mean nodepos.rack?'],
      [['nodels', 'm1', 'nodetype.arhc'], 'There is no nodetype.arhc. Did you mean nodetype.arch?'],
      [['lskmodules', '-i', 'rocky9-compte'], 'There is no rocky9-compte. Did you mean rocky9-compute?'],
      [['lsimage', 'rocky9-compte'], 'There is no rocky9-compte. Did you mean rocky9-compute?'],
      [['packimage', 'rocky9-compte'], 'There is no rocky9-compte. Did you mean rocky9-compute?'],
      [['nodeset', 'm1', 'osimage=rocky9-compte'], 'There is no rocky9-compte. Did you mean rocky9-compute?'],
      [['tabdump', 'nodlist'], 'There is no nodlist. Did you mean nodelist?'],
      [['changes', 'rakc1', '--table', 'nodlist'], 'Did you mean "nodelist"?'],
      [['rpwoer', 'm1', 'stat'], 'There is no command "rpwoer". Did you mean "rpower"?'],
      [['help', 'lsdfe'], 'There is no command and no topic "lsdfe". Did you mean "lsdef"?'],
    ] as const)
      expect([argv, (await run(...argv)).stderr]).toEqual([argv, expect.stringContaining(meant)]);
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
    const advice =
      'muster tried 127.0.0.1:1 (MUSTER_URL) with the token of MUSTER_TOKEN. ' +
      'Start the server there (systemctl start muster), or name another one with MUSTER_URL.';
    expect(await ended(muster, ['lsdef'], env)).toEqual({
      code: 111,
      stdout:
        'Unable to open socket connection to xcatd daemon on 127.0.0.1:1.\n' +
        'Verify that the xcatd daemon is running and that your SSL setup is correct.\n',
      stderr: `Connection failure: Connection refused. ${advice}\n`,
    });
    expect(await ended(muster, ['changes'], env)).toEqual({
      code: 3,
      stdout: '',
      stderr: `muster changes: The server at 127.0.0.1:1 cannot be reached: Connection refused. ${advice}\n`,
    });
  });

  it('is named with how it was found, as whom it was asked, and what to do next', async () => {
    const failure = async (env: Record<string, string>) =>
      (await ended(muster, ['lsdef'], { HOME: home, ...env })).stderr;
    const socket = join(home, 'gone.sock');
    writeFileSync(socket, '');
    expect(await failure({ MUSTER_SOCKET: socket })).toMatch(
      /muster tried \S+gone\.sock \(MUSTER_SOCKET\) as the local user \w+\. Start the server/,
    );
    expect(await failure({ XCATHOST: 'nosuch.invalid:8443' })).toMatch(
      /^Connection failure: the name of the host is not known\. muster tried nosuch\.invalid:8443 \(XCATHOST\) without a login\./,
    );
    expect(await failure({ MUSTER_URL: `https://127.0.0.1:${server.port}` })).toMatch(
      /^Connection failure: its certificate is not trusted; muster login shows it and asks\. muster tried/,
    );
    const contexts = { current: 'mn', contexts: { mn: { url: 'https://127.0.0.1:1', user: 'anna', token: 'x' } } };
    mkdirSync(join(home, 'muster'));
    writeFileSync(join(home, 'muster/contexts.json'), JSON.stringify(contexts));
    expect(await failure({ XDG_CONFIG_HOME: home })).toContain('127.0.0.1:1 (the login mn) as anna. Start the server');
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
