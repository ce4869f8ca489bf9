import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { errorOf } from '../harness/errors.ts';
import { written } from '../harness/output.ts';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define, labNode } from './nodes.ts';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;
/** An account with the right to one node. */
let few: { readonly token: string };

beforeAll(async () => {
  [server, bmcs, services] = await Promise.all([
    startServer(),
    startBmcs({ count: 1, prefix: '127.132' }),
    startRedfish({ count: 3, prefix: '127.133', kinds: ['plain', 'sparse', 'openbmc'] }),
  ]);
  await define(server, {
    ip: labNode('ipmi', bmcs.addresses[0]!),
    rf: labNode('redfish', services.addresses[0]!),
    slots: labNode('redfish', services.addresses[1]!),
    ob: labNode('openbmc', services.addresses[2]!),
  });
  await server.ok('PUT', '/tables/policy/rows/priority=5', {
    name: 'few',
    rule: 'allow',
    commands: 'bmcaccounts',
    noderange: 'rf',
  });
  few = { token: await addUser(server, 'few') };
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop()]));

const all = ['ip', 'rf', 'slots', 'ob'];
const accountsOf = (range: string) => server.ok('GET', `/nodes/${range}/sp/accounts`);

describe('accounts of BMCs', () => {
  it('are listed, and which of them muster uses', async () => {
    const shown = await accountsOf(all.join());
    for (const node of all)
      expect(shown[node].admin, node).toEqual(expect.arrayContaining(['administrator', 'used by muster']));
    expect(shown.rf.viewer).toEqual(expect.arrayContaining(['readonly', 'enabled']));
    expect(Object.keys(shown.slots)).toEqual(['admin', 'oper', 'viewer']);
  });

  it('are made, changed and removed on all kinds at once', async () => {
    const range = all.join();
    const body = { username: 'audit', password: 'first-Secret-001', role: 'readonly' };
    expect((await server.call('POST', `/nodes/${range}/sp/accounts`, { body })).status).toBe(201);
    expect((await server.call('PUT', `/nodes/${range}/sp/accounts/audit`, { body: { role: 'operator' } })).text).toBe(
      '',
    );
    const shown = await accountsOf(range);
    for (const node of all) expect(shown[node].audit, node).toContain('operator');
    expect((await server.call('DELETE', `/nodes/${range}/sp/accounts/audit`)).status).toBe(200);
    for (const accounts of Object.values(await accountsOf(range))) expect(accounts).not.toHaveProperty('audit');
  });

  it('are left alone where muster needs them', async () => {
    for (const [method, body] of [
      ['DELETE', undefined],
      ['PUT', { role: 'readonly' }],
      ['PUT', { enabled: 'no' }],
    ] as const) {
      const reply = await server.call(method, '/nodes/ip,rf/sp/accounts/admin', { body });
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error).toEqual([
        expect.stringMatching(/^ip: muster reaches its BMC with the account "admin"/),
        expect.stringMatching(/^rf: muster reaches its BMC/),
      ]);
    }
    // Another system behind the same BMC has an account of its own.
    await define(server, {
      rf2: { ...labNode('redfish', services.addresses[0]!), bmcusername: 'oper', bmcpassword: 'operpw' },
    });
    const reply = await server.call('DELETE', '/nodes/rf/sp/accounts/oper');
    expect(reply.json.error).toEqual([expect.stringMatching(/with the account "oper"/)]);
    await server.ok('DELETE', '/nodes/rf2');
  });

  it.each([
    ['POST', 'accounts', { username: 'x/y', password: 'first-Secret-001', role: 'readonly' }, 403],
    ['POST', 'accounts', { username: 'audit', password: 'first-Secret-001', role: 'king' }, 403],
    ['POST', 'accounts', { username: 'audit', password: 'first-Secret-001' }, 400],
    ['POST', 'accounts', { username: 'audit', role: 'readonly', password: '' }, 400],
    ['POST', 'accounts', { username: 'audit', password: 'first-Secret-001', role: 'readonly', colour: 'red' }, 400],
    ['PUT', 'accounts/viewer', {}, 400],
    ['PUT', 'accounts/viewer', { enabled: 'maybe' }, 400],
    ['PUT', 'accounts/viewer', { password: 'a\nb' }, 403],
    ['PUT', 'accounts', { x: 'y' }, 405],
  ])('%s %s with %j is refused before anything is sent', async (method, path, body, status) => {
    const before = await services.state(0);
    const reply = await server.call(method, `/nodes/rf/sp/${path}`, { body });
    expect(reply.status).toBe(status);
    expect((await services.state(0)).requests).toEqual(before.requests);
  });

  it('are there for who may run the command, on these nodes', async () => {
    expect((await server.call('GET', '/nodes/rf/sp/accounts', few)).status).toBe(200);
    expect(errorOf(await server.call('GET', '/nodes/ip/sp/accounts', few))).toEqual([403, 2]);
    expect(errorOf(await server.call('DELETE', '/nodes/ip,rf/sp/accounts/viewer', few))).toEqual([403, 2]);
  });

  it('leave no password in logs, journal and runs', async () => {
    const body = { username: 'audit', password: 'Leak-Me-Not-42', role: 'readonly' };
    const made = await server.call('POST', '/nodes/rf/sp/accounts', { body });
    await server.ok('PUT', '/nodes/rf/sp/accounts/audit', { password: 'Leak-Me-Not-43' });
    await server.ok('DELETE', '/nodes/rf/sp/accounts/audit');
    const run = await server.call('GET', `/runs/${String(made.headers['x-muster-run'])}`);
    const database = join(server.data, 'muster.sqlite');
    const stored = ['auditlog', 'muster_journal'].map((table) => queryOutside(database, `select * from ${table}`));
    for (const text of [run.text, JSON.stringify(stored), await written(server)])
      expect(text).not.toMatch(/Leak-Me-Not/);
    expect(JSON.stringify(await server.ok('GET', '/tables/auditlog/rows/command=bmcaccounts'))).toMatch(
      /add audit password=\*{8} role=readonly/,
    );
  });
});

describe('muster bmc', () => {
  const home = temporaryDirectory();
  const run = (...words: string[]) => program(muster, ['bmc', ...words], environmentFor(server, home));

  it('shows, makes, changes and removes accounts', async () => {
    const file = join(server.data, 'audit-password');
    await writeFile(file, 'first-Secret-001\n');
    const made = await run('adduser', 'rf,ip', 'audit', '--role', 'readonly', '--password-file', file);
    expect([made.code, made.stdout.split('\n').sort()]).toEqual([
      0,
      ['', 'ip: made the account audit', 'rf: made the account audit'],
    ]);
    expect((await run('accounts', 'rf')).stdout).toMatch(/^rf: audit: readonly, enabled, id \S+$/m);
    const changed = await run('chuser', 'rf,ip', 'audit', '--disable', '--yes');
    expect([changed.code, changed.stdout]).toEqual([0, expect.stringContaining('ip: changed the account audit\n')]);
    expect((await run('accounts', 'rf')).stdout).toMatch(/^rf: audit: readonly, disabled/m);
    const removed = await run('rmuser', 'rf,ip', 'audit', '--yes');
    expect([removed.code, removed.stdout]).toEqual([0, expect.stringContaining('rf: removed the account audit\n')]);
    const gone = await run('rmuser', 'ip', 'audit', '--yes');
    expect([gone.code, gone.stderr]).toEqual([
      1,
      expect.stringMatching(/no account "audit"; it has [a-z]+(, [a-z]+)*\.\n/),
    ]);
    expect((await run('accounts', 'rf,ip')).stdout).not.toMatch(/audit/);
  });

  it.each([
    [['accounts', 'rf', 'more'], /takes nothing behind the nodes/],
    [['adduser', 'rf', 'audit'], /Say with --role/],
    [['rmuser', 'rf', 'audit', '--role', 'operator'], /--role does not go with rmuser/],
    [['chuser', 'rf', 'audit'], /Say what is to change/],
    [['nonsense', 'rf'], /Say what to do/],
    [['adduser', 'rf', 'audit', '--role', 'readonly', '--password-file', '/nonexistent'], /cannot be read/],
    [['adduser', 'rf', 'audit', '--role', 'readonly'], /standard input is no terminal/],
  ])('refuses %j', async (words, sentence) => {
    const { code, stderr } = await run(...words);
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)]);
  });
});

describe('rspconfig with an account', () => {
  const home = temporaryDirectory();
  const run = (...words: string[]) => program(muster, ['rspconfig', ...words], environmentFor(server, home));
  const note = (text: string) => `Note: ${text}"muster bmc accounts ip" shows the accounts and their userids.\n`;

  it('says that accounts are not read here', async () => {
    expect(await run('ip', 'userid')).toEqual({ code: 0, stdout: '', stderr: note('userid can only be set; ') });
    const both = await run('ip', 'ip', 'userid');
    expect([both.stdout, both.stderr]).toEqual(['ip: BMC IP: 127.132.0.1\n', note('userid can only be set; ')]);
    for (const name of ['username', 'password']) {
      const { code, stdout, stderr } = await run('ip', name);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^ip: \S+ Error: The username is invalid\n/);
      expect(stderr).toContain(note('Give userid=N, username=NAME and password=PASSWORD in one call; '));
    }
  });

  it('changes nothing by half, and says what to do', async () => {
    const before = await accountsOf('ip,rf');
    for (const [words, ip, rf] of [
      [
        ['username=oper'],
        /give userid, the number of the account from 1 to 63/,
        /give password together with username/,
      ],
      [['userid=9', 'username=fred'], /nobody at userid 9 yet/, /no account for userid "9"/],
      [['userid=0', 'username=fred', 'password=Leak-Me-44'], /from 1 to 63/, /no account for userid "0"/],
    ] as const) {
      const { code, stdout, stderr } = await run('ip,rf', ...words);
      expect([code, stdout]).toEqual([1, '']);
      for (const sentence of [ip, rf]) expect(stderr).toMatch(sentence);
      expect(stderr).not.toMatch(/Leak-Me/);
    }
    expect(await accountsOf('ip,rf')).toEqual(before);
  });

  it('says what to do when the account is that of muster', async () => {
    expect(await run('ip', 'password=own-Secret1', 'userid=2')).toEqual({
      code: 0,
      stdout:
        'ip: This is the account used to reach it: set bmcpassword of the node to the new value.\n' +
        'ip: Set password, userid succeeded.\n',
      stderr: '',
    });
  });
});
