import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../lab/nats.ts';
import { Browser, LabProvider } from '../lab/oidc.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { written } from '../harness/output.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';

let directory: string;
let provider: LabProvider;
let server: TestServer;
let url: string;

const alice = { preferred_username: 'alice', groups: ['ops'] };
const device = (body: object = {}, to = server) => to.call('POST', '/session/oidc/device', { token: null, body });
const browser = (person: string) => new Browser(person, [provider.ca, join(server.data, 'tls/ca.pem')]);
const tokenStatus = async (token: string, path = '/tokens') => (await server.call('GET', path, { token })).status;
const claimsOf = (name: string, groups: readonly string[] = []) => ({ preferred_username: name, groups });

const config = (issuer: string, more = ''): string =>
  `[oidc]
issuer = "${issuer}"
client = "muster"
secretFile = "${directory}/secret"
ca = "${directory}/cert.pem"
url = "${url}"
scopes = ["openid", "profile", "offline_access"]
timeout = 2
${more}`;

/** Logs in as a command line does, with the person at a browser. */
async function logIn(
  person: string,
): Promise<{ status: number; json: { token?: { id: string }; user?: string; error?: string[] } }> {
  const { json } = await device();
  await browser(person).confirmDevice(json.completeUrl);
  return device({ flow: json.flow });
}

async function tokenOf(person: string): Promise<string> {
  const { status, json } = await logIn(person);
  expect([status, json.error]).toEqual([201, undefined]);
  return json.token!.id;
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'muster-oidc-'));
  writeFileSync(join(directory, 'secret'), 'provider-secret\n', { mode: 0o600 });
  const port = await freePort('127.0.0.1');
  url = `https://127.0.0.1:${port}`;
  provider = await LabProvider.start(directory, `${url}/muster/session/oidc/callback`);
  await provider.person('a1', alice);
  await provider.person('b2', claimsOf('bob'));
  server = await startServer({ config: config(provider.issuer), listen: [`127.0.0.1:${port}`] });
  await server.ok('POST', '/nodes/n[1-3]', { groups: 'all' });
  await server.ok('POST', '/policy/20', { name: '@ops', commands: 'lsdef,nodels', rule: 'allow' });
}, 120_000);
afterEach(() => provider.fault(''));
afterAll(async () => {
  await server?.stop();
  await provider?.end();
  rmSync(directory, { recursive: true, force: true });
});

describe('a login of a command line', () => {
  it('waits for the person, and gives a token with the rights of their groups', async () => {
    const { status, json } = await device();
    expect([status, json]).toEqual([
      200,
      expect.objectContaining({ code: expect.any(String), url: `${provider.issuer}/device` }),
    ]);
    expect((await device({ flow: json.flow })).json).toEqual({ pending: true, interval: expect.any(Number) });
    await browser('a1').confirmDevice(json.completeUrl);
    await expect
      .poll(async () => (await device({ flow: json.flow })).status, { timeout: 20_000, interval: 1_100 })
      .toBe(201);
    const token = await tokenOf('a1');
    expect(await tokenStatus(token, '/nodes/n1')).toBe(200);
    expect(await tokenStatus(token, '/nodes/n1/power')).toBe(403);
    expect(await tokenStatus(await tokenOf('b2'), '/nodes/n1')).toBe(403);
    const { text } = await server.call('GET', '/tables/auditlog/rows');
    expect(text).toContain('(by OpenID Connect)');
  }, 60_000);

  it('is over once it has given a token, and is nothing that somebody made up', async () => {
    const { json } = await device();
    await browser('a1').confirmDevice(json.completeUrl);
    expect((await device({ flow: json.flow })).status).toBe(201);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await device({ flow: json.flow })).status).toBe(401);
    for (const flow of ['', 'x', `${json.flow.slice(0, -4)}AAAA`]) expect((await device({ flow })).status).toBe(401);
    expect((await device({ flow: 1 })).status).toBe(400);
    expect((await device({ code: json.code })).status).toBe(400);
  });

  it('keeps secrets to itself', async () => {
    const token = await tokenOf('a1');
    for (const table of ['token', 'oidcgrant', 'siteaccount']) {
      const { text } = await server.call('GET', `/tables/${table}/rows`);
      expect([table, text.includes(token), text.includes('refresh') && !text.includes('********')]).toEqual([
        table,
        false,
        false,
      ]);
    }
    const log = await written(server);
    expect(log).not.toContain('provider-secret');
    expect(log).not.toContain(token);
  });
});

describe('names', () => {
  it('of table passwd, root among them, are for nobody from the provider', async () => {
    await addUser(server, 'carol');
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=dave', { password: 'x', disable: '1' });
    for (const [sub, name] of [
      ['c1', 'carol'],
      ['c2', 'root'],
      ['c3', 'ROOT'],
      ['c4', 'Carol'],
      ['c5', 'dave'],
      ['c6', 'a b'],
      ['c7', '@ops'],
      ['c8', 'ｒoot'],
      ['c9', '*'],
    ] as const) {
      await provider.person(sub, claimsOf(name, ['ops']));
      const { status, json } = await logIn(sub);
      expect([name, status, json.token]).toEqual([name, 401, undefined]);
    }
  }, 60_000);

  it('are one person for as long as that one is here, whoever is called so later', async () => {
    await provider.person('e1', claimsOf('erin', ['ops']));
    const token = await tokenOf('e1');
    await provider.person('e2', claimsOf('erin'));
    expect((await logIn('e2')).status).toBe(401);
    expect(await tokenStatus(token, '/nodes/n1')).toBe(200);
  });

  it('are needed, and groups must be a list', async () => {
    await provider.person('f1', { groups: [] });
    await provider.person('f2', { preferred_username: 'fred', groups: 'ops' });
    for (const sub of ['f1', 'f2']) expect([sub, (await logIn(sub)).status]).toEqual([sub, 401]);
  });
});

describe('an ID token', () => {
  it.each(['none', 'expired', 'audience', 'issuer', 'signature'])(
    'with a wrong thing in it is not taken: %s',
    async (fault) => {
      await provider.fault(fault);
      const { status, json } = await logIn('a1');
      expect([status, json.token]).toEqual([401, undefined]);
      await provider.fault('');
      expect((await logIn('a1')).status).toBe(201);
    },
  );

  it('with another key is taken once the provider has changed its keys', async () => {
    await tokenOf('a1');
    await provider.rotate();
    expect(await tokenStatus(await tokenOf('a1'))).toBe(200);
  });
});

describe('a login of a browser', () => {
  const start = (one: Browser) => one.open(`${url}/muster/session/oidc`, undefined, /\/callback\?/);

  it('ends in a session, and nowhere but at muster', async () => {
    const one = browser('a1');
    const { url: callback } = await start(one);
    expect(new URL(callback).origin).toBe(url);
    expect(new URL(callback).searchParams.get('state')).toMatch(/^\S{20,}$/);
    const done = await one.open(callback);
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('url=/"')]);
    const jar = one.cookies.get(new URL(url).host)!;
    expect([...jar.keys()]).toEqual(['__Host-muster-session']);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const session = await server.call('GET', '/session', { token: null, headers: { cookie } });
    expect(session.json).toMatchObject({ user: 'alice', full: false });
    const away = await one.open(
      `${url}/muster/session/oidc?to=https://evil.example&redirect_uri=https://evil.example`,
      undefined,
      /\/callback\?/,
    );
    expect(new URL(away.url).origin).toBe(url);
  });

  it('is refused with the answer of another one, a second time, or without what the browser has kept', async () => {
    const [mine, other] = [browser('a1'), browser('b2')];
    const [{ url: own }, { url: foreign }] = [await start(mine), await start(other)];
    const status = async (one: Browser, address: string) => (await one.visit(address)).status;
    expect(await status(browser('a1'), own)).toBe(401);
    expect(await status(mine, foreign)).toBe(401);
    const again = browser('a1');
    const { url: last } = await start(again);
    const kept = new Map(again.cookies.get(new URL(url).host));
    expect(await status(again, last)).toBe(200);
    again.cookies.set(new URL(url).host, kept);
    expect(await status(again, last)).toBe(401);
    expect(
      await status(
        await started(),
        `${url}/muster/session/oidc/callback?error=access_denied&error_description=<script>`,
      ),
    ).toBe(401);
  });

  async function started(): Promise<Browser> {
    const one = browser('a1');
    await start(one);
    return one;
  }

  it.each(['nonce', 'none', 'audience'])('is refused if the token has a wrong thing in it: %s', async (fault) => {
    const one = browser('a1');
    const { url: callback } = await start(one);
    await provider.fault(fault);
    const { status, text } = await one.visit(callback);
    expect([status, text]).toEqual([401, expect.stringContaining('Authentication failure')]);
  });
});

describe('while the provider', () => {
  const others = async (to: TestServer) => {
    const login = await to.call('POST', '/tokens', { token: null, body: { userName: 'root', userPW: rootPassword } });
    expect(login.status).toBe(201);
  };

  it('is away, its logins are answered with 503, others work, and it is asked again', async () => {
    const flow = (await device()).json.flow;
    await provider.end();
    expect((await device({ flow })).status).toBe(503);
    expect((await device()).status).toBe(503);
    await others(server);
    await provider.begin();
    await provider.person('a1', alice);
    await tokenOf('a1');
  }, 30_000);

  it('hangs or is another one than it is said to be, its logins are answered with 503, and others work', async () => {
    const held = new Set<Socket>();
    const silent: Server = createServer((socket) => held.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address() as { port: number };
    for (const issuer of [`https://127.0.0.1:${address.port}`, `${provider.issuer}/other`]) {
      const second = await startServer({ config: config(issuer) });
      try {
        const asked = device({}, second);
        await others(second);
        expect((await asked).status).toBe(503);
      } finally {
        await second.stop();
      }
    }
    for (const socket of held) socket.destroy();
    silent.close();
  }, 60_000);
});

describe('an account that changes at the provider', () => {
  it('has its new groups here, and loses all its tokens when it is disabled there', async () => {
    const second = await startServer({ config: `${config(provider.issuer)}\n[accounts]\ncheckEvery = 1` });
    try {
      await second.ok('POST', '/nodes/n1', { groups: 'all' });
      await second.ok('POST', '/policy/20', { name: '@ops', commands: 'lsdef', rule: 'allow' });
      const statusOf = async (token: string, path = '/tokens') => (await second.call('GET', path, { token })).status;
      await provider.person('g1', claimsOf('gina', ['ops']));
      const { json } = await device({}, second);
      await browser('g1').confirmDevice(json.completeUrl);
      const token: string = (await device({ flow: json.flow }, second)).json.token.id;
      const limited = (await second.call('POST', '/tokens', { token, body: { commands: 'lsdef' } })).json.token
        .id as string;
      expect([await statusOf(token, '/nodes/n1'), await statusOf(limited, '/nodes/n1')]).toEqual([200, 200]);
      await provider.person('g1', claimsOf('gina', []));
      await expect.poll(() => statusOf(token, '/nodes/n1'), { timeout: 20_000, interval: 200 }).toBe(403);
      expect(await statusOf(limited, '/nodes/n1')).toBe(403);
      await provider.person('g1', claimsOf('gina', ['ops']));
      await expect.poll(() => statusOf(limited, '/nodes/n1'), { timeout: 20_000, interval: 200 }).toBe(200);
      await provider.person('g1', claimsOf('gina', ['ops']), true);
      await expect.poll(() => statusOf(token), { timeout: 20_000, interval: 200 }).toBe(401);
      expect(await statusOf(limited)).toBe(401);
    } finally {
      await second.stop();
    }
  }, 90_000);
});

it('muster login --oidc shows where to log in, and keeps the token', async () => {
  const env = { HOME: directory, MUSTER_CA: join(server.data, 'tls/ca.pem') };
  const login = spawn(muster, ['login', url, '--oidc', '--context', 'site'], {
    env: { PATH: process.env['PATH'], ...env },
  });
  let shown = '';
  login.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  const gone = new Promise((resolve) => login.once('exit', resolve));
  const address = (): string | undefined => /https:\S+user_code=\S+/.exec(shown)?.[0];
  await expect.poll(address, { timeout: 30_000 }).toBeDefined();
  await browser('a1').confirmDevice(address()!);
  expect([await gone, shown]).toEqual([0, expect.stringContaining('as alice, until')]);
  expect(await ended(muster, ['nodels', 'n1'], env)).toMatchObject({ code: 0, stdout: 'n1\n' });
  const wrong = await ended(muster, ['login', url, '--oidc', '--user', 'alice'], env);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--user has no meaning')]);
}, 60_000);

it('strangers cause no more than so many questions to the provider', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 310; i++) statuses.push((await device({ flow: 'x' })).status);
  expect(statuses).toContain(503);
});

it('has its client secret in a file alone', () => {
  expect(readFileSync(join(server.data, 'test-config.toml'), 'utf8')).not.toContain('provider-secret');
});
