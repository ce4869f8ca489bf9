import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Browser, LabProvider } from '../lab/oidc.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';
import { dnOf, group, groupDn, person, type Slapd, startSlapd } from '../lab/slapd.ts';

/** Two servers with one database, and one directory. */
let slapd: Slapd;
let postgres: Postgres;
let provider: LabProvider;
let first: TestServer;
let second: TestServer;
const data = temporaryDirectory();
const lab = temporaryDirectory();
/** What people open, whichever server answers. */
const url = 'https://mn.cluster:8443';

beforeAll(async () => {
  writeFileSync(join(lab, 'secret'), 'provider-secret\n', { mode: 0o600 });
  [slapd, postgres, provider] = await Promise.all([
    startSlapd([person('alice'), person('bob'), group('viewers', dnOf('alice'), dnOf('bob'))].join('')),
    makePostgres('muster'),
    LabProvider.start(lab, `${url}/muster/session/oidc/callback`),
  ]);
  const config = `[accounts]
sources = ["ldap"]
checkEvery = 1
[ldap]
servers = ["${slapd.url}"]
ca = "${slapd.ca}"
base = "dc=cluster"
bindDn = "${slapd.reader.dn}"
bindPasswordFile = "${slapd.reader.passwordFile}"
[oidc]
issuer = "${provider.issuer}"
client = "muster"
secretFile = "${lab}/secret"
ca = "${provider.ca}"
url = "${url}"
`;
  const environment = { MUSTER_DATABASE: postgres.url };
  first = await startServer({ environment, config });
  cpSync(join(first.data, 'secret.key'), join(data, 'secret.key'));
  second = await startServer({ environment, config, data });
  await first.ok('POST', '/policy/6', { name: '@viewers', commands: 'nodels,lsdef', rule: 'allow' });
});
afterAll(async () => {
  await Promise.all([first?.stop(), second?.stop()]);
  await Promise.all([slapd?.remove(), postgres?.remove(), provider?.end()]);
  rmSync(lab, { recursive: true, force: true });
  rmSync(data, { recursive: true, force: true });
});

const tokenOf = async (name: string, at: TestServer): Promise<string> =>
  (await at.ok('POST', '/tokens', { userName: name, userPW: `pw-${name}` }, { token: null })).token.id;
const statuses = (token: string, path: string): Promise<number[]> =>
  Promise.all([first, second].map(async (server) => (await server.call('GET', path, { token })).status));

it('rights and tokens end at both servers, whichever gave the token', async () => {
  const [alice, bob] = [await tokenOf('alice', first), await tokenOf('bob', second)];
  await expect.poll(() => statuses(alice, '/nodes')).toEqual([200, 200]);
  await expect.poll(() => statuses(bob, '/nodes')).toEqual([200, 200]);
  slapd.change(`dn: ${groupDn('viewers')}\nchangetype: modify\ndelete: member\nmember: ${dnOf('alice')}\n`);
  await expect.poll(() => statuses(alice, '/nodes')).toEqual([403, 403]);
  expect(await statuses(alice, '/tokens')).toEqual([200, 200]);
  slapd.change(`dn: ${dnOf('bob')}\nchangetype: modify\nreplace: shadowExpire\nshadowExpire: 1\n`);
  await expect.poll(() => statuses(bob, '/nodes')).toEqual([401, 401]);
  expect(await statuses(alice, '/tokens')).toEqual([200, 200]);
});

it('doctor compares the clocks of a server and PostgreSQL', async () => {
  const { findings } = await second.ok('GET', '/doctor');
  expect(findings).toContainEqual({ well: true, what: 'time', text: 'PostgreSQL shows the same time as this machine' });
});

it('a login by OpenID Connect begins at one server and ends at the other', async () => {
  await provider.person('c1', { preferred_username: 'carl' });
  const browser = new Browser('c1', [provider.ca, join(first.data, 'tls/ca.pem'), join(data, 'tls/ca.pem')]);
  const poll = (server: TestServer, body: object) => server.call('POST', '/session/oidc/device', { token: null, body });
  const { json } = await poll(first, {});
  await browser.confirmDevice(json.completeUrl);
  expect(await poll(second, { flow: json.flow })).toMatchObject({ status: 201, json: { user: 'carl' } });
  const [begins, ends] = [first, second].map(({ port }) => `127.0.0.1:${port}`) as [string, string];
  const { url: callback } = await browser.open(`https://${begins}/muster/session/oidc`, undefined, /\/callback\?/);
  browser.cookies.set(ends, browser.cookies.get(begins)!);
  expect((await browser.visit(callback.replace(url, `https://${ends}`))).status).toBe(200);
});
