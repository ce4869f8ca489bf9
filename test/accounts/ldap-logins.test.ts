import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { dnOf, group, groupDn, person, type Slapd, startSlapd } from '../lab/slapd.ts';

let slapd: Slapd;
let server: TestServer;

const configOf = ({ url, ca, reader }: Slapd, more = ''): string => `[accounts]
sources = ["ldap"]
checkEvery = 1
${more}
[ldap]
servers = ["${url}"]
ca = "${ca}"
base = "dc=cluster"
groupBase = "ou=groups,dc=cluster"
bindDn = "${reader.dn}"
bindPasswordFile = "${reader.passwordFile}"
timeout = 2
`;

beforeAll(async () => {
  slapd = await startSlapd(
    [
      ...['root', 'alice', 'bob', 'carol', 'dave', 'erin', 'Frank', 'gina'].map((name) => person(name)),
      group('Admins', dnOf('alice'), dnOf('carol')),
      group('viewers', dnOf('bob'), dnOf('dave'), dnOf('erin')),
    ].join(''),
  );
  server = await startServer({ config: configOf(slapd, 'keep = 6') });
  await server.ok('POST', '/policy/5', { name: '@admins', rule: 'allow' });
  await server.ok('POST', '/policy/6', { name: '@Viewers', commands: 'nodels,lsdef', rule: 'allow' });
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=bob', { password: 'muster-bob' });
});
afterAll(async () => {
  await server?.stop();
  await slapd?.remove();
});

const logIn = (userName: string, userPW = `pw-${userName}`, at = server) =>
  at.call('POST', '/tokens', { body: { userName, userPW }, token: null });
async function tokenOf(name: string, at = server): Promise<string> {
  const { status, json } = await logIn(name, undefined, at);
  expect([name, status]).toEqual([name, 201]);
  return json.token.id as string;
}
const statusOf = async (token: string, path = '/nodes', at = server): Promise<number> =>
  (await at.call('GET', path, { token })).status;
const explained = async (name: string) => server.ok('GET', `/policy/explain?user=${name}&command=nodels`);

describe('an account of the directory', () => {
  it('logs in, and has what rules give its groups', async () => {
    const token = await tokenOf('carol');
    expect(await statusOf(token, '/tables/site/rows')).toBe(200);
    expect(await explained('carol')).toMatchObject({
      source: 'ldap',
      groups: ['admins'],
      fullRights: true,
      rule: '5',
      why: ['Rule 5, which is for the group admins, allows it.'],
    });
    expect((await logIn('carol', 'wrong')).status).toBe(401);
    expect((await logIn('carol', '')).status).toBe(401);
    expect((await logIn('nobody')).status).toBe(401);
    for (const name of ['*', 'car*', 'carol)(uid=*', 'carol,ou=people'])
      expect([name, (await logIn(name, 'pw-carol')).status]).toEqual([name, 401]);
  });

  it('is one account, however its name is written', async () => {
    for (const typed of ['Frank', 'frank', 'FRANK', ' frank '])
      expect((await logIn(typed, 'pw-Frank')).status).toBe(201);
    const token = (await logIn('fRANK', 'pw-Frank')).json.token.id as string;
    expect((await server.call('GET', '/tokens', { token })).json.tokens).toHaveLength(5);
    expect(await server.ok('GET', '/tables/siteaccount/rows/username=frank')).toMatchObject({
      siteaccount: [{ username: 'frank', source: 'ldap' }],
    });
  });

  it('is none that table passwd has, and never root', async () => {
    expect((await logIn('bob')).status).toBe(401);
    expect((await logIn('BOB')).status).toBe(401);
    expect((await logIn('bob', 'muster-bob')).status).toBe(201);
    expect((await explained('bob')).groups).toBeUndefined();
    expect((await logIn('root', 'pw-root')).status).toBe(401);
    // Also while its row counts for nothing.
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=bob', { disable: '1' });
    expect((await logIn('bob')).status).toBe(401);
  });

  it('is no reason to give up the last account with full rights, and its row is not for writing', async () => {
    const { status, text } = await server.call('DELETE', '/policy/1', {});
    expect([status, text]).toEqual([403, expect.stringContaining('no account would have full rights')]);
    const { status: written } = await server.call('PUT', '/tables/siteaccount/rows/username=frank', {
      body: { groups: 'admins' },
    });
    expect(written).toBe(403);
  });

  it('can send its password with every request', async () => {
    const basic = (password: string) =>
      server.call('GET', '/nodes', {
        token: null,
        headers: { authorization: `Basic ${Buffer.from(`Carol:${password}`).toString('base64')}` },
      });
    expect((await basic('pw-carol')).status).toBe(200);
    expect((await basic('pw-wrong')).status).toBe(401);
  });
});

describe('what changes in the directory', () => {
  it('changes rights: who leaves a group, or comes into one', async () => {
    const token = await tokenOf('dave');
    expect(await statusOf(token)).toBe(200);
    expect(await statusOf(token, '/tables/site/rows')).toBe(403);
    slapd.change(`dn: ${groupDn('viewers')}\nchangetype: modify\ndelete: member\nmember: ${dnOf('dave')}\n`);
    await expect.poll(() => statusOf(token)).toBe(403);
    slapd.change(`dn: ${groupDn('Admins')}\nchangetype: modify\nadd: member\nmember: ${dnOf('dave')}\n`);
    await expect.poll(() => statusOf(token, '/tables/site/rows')).toBe(200);
  });

  it.each<[what: string, name: string, ldif: string]>([
    ['is disabled', 'dave', 'changetype: modify\nreplace: shadowExpire\nshadowExpire: 1\n'],
    ['is removed', 'gina', 'changetype: delete\n'],
  ])('ends the tokens of an account that %s', async (_what, name, ldif) => {
    const token = await tokenOf(name);
    slapd.change(`dn: ${dnOf(name)}\n${ldif}`);
    await expect.poll(() => statusOf(token, '/tokens')).toBe(401);
    expect((await logIn(name)).status).toBe(401);
  });

  it('ends them too when somebody else gets the name', async () => {
    const token = await tokenOf('erin');
    slapd.change(`dn: ${dnOf('erin')}\nchangetype: delete\n`);
    slapd.change(person('erin').replace('\n', '\nchangetype: add\n'));
    await expect.poll(() => statusOf(token, '/tokens')).toBe(401);
    const other = await tokenOf('erin');
    expect((await server.call('GET', '/tokens', { token: other })).json.tokens).toHaveLength(1);
  });
});

describe('a directory that is away', () => {
  it('costs only those who would have to be asked for', async () => {
    const token = await tokenOf('carol');
    const mine = { authorization: `Basic ${Buffer.from('carol:pw-carol').toString('base64')}` };
    slapd.suspend();
    const waiting = logIn('alice');
    expect((await logIn('root', 'cluster')).status).toBe(201);
    expect(await statusOf(token)).toBe(200);
    // What it has found right a moment ago counts.
    expect((await server.call('GET', '/nodes', { token: null, headers: mine })).status).toBe(200);
    const { status, headers, json } = await waiting;
    expect([status, Number(headers['retry-after'])]).toEqual([503, expect.any(Number)]);
    expect(json.error.join(' ')).toContain('The directory of the site cannot be asked now');
    expect(json.error.join(' ')).not.toContain('127.0.0.1');
    slapd.resume();
    await expect.poll(async () => (await logIn('alice')).status).toBe(201);
  });

  it('for too long ends tokens', async () => {
    const token = await tokenOf('carol');
    await slapd.stop();
    expect(await statusOf(token, '/tokens')).toBe(200);
    await expect.poll(() => statusOf(token, '/tokens')).toBe(401);
    expect(await statusOf(server.token)).toBe(200);
    await slapd.start();
    await expect.poll(async () => (await logIn('carol')).status).toBe(201);
  });
});
