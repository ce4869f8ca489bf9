import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

/** The server sees a machine with these users: its own passwd, shadow, group and PAM. */
let machine: string;
let server: TestServer;
const at = (name: string): string => join(machine, name);

const hashed = (password: string): string =>
  execFileSync('openssl', ['passwd', '-6', password], { encoding: 'utf8' }).trim();
const replace = (file: string, from: string, to: string): void => {
  const text = readFileSync(at(file), 'utf8');
  expect(text).toContain(from);
  // The same file: a new one would not be seen.
  writeFileSync(at(file), text.replace(from, to));
};

const service = `auth [success=2 default=ignore] pam_exec.so quiet HANG
auth [success=1 default=ignore] pam_unix.so
auth requisite pam_deny.so
auth required pam_permit.so
account required pam_unix.so
`;

beforeAll(async () => {
  machine = mkdtempSync(join(tmpdir(), 'muster-machine-'));
  // Users of the machine reach the socket in it.
  chmodSync(machine, 0o755);
  mkdirSync(at('pam.d'));
  const people = ['dora', 'emil', 'fred', 'gus'];
  const users = people.map((name, i) => `${name}:x:${7001 + i}:7100::/home/${name}:/bin/sh\n`);
  writeFileSync(at('passwd'), `root:x:0:0:root:/root:/bin/bash\n${users.join('')}`);
  writeFileSync(at('shadow'), `root:${hashed('machine-root')}:19000::::::\n`, { mode: 0o640 });
  for (const name of people)
    writeFileSync(at('shadow'), `${name}:${hashed(`pw-${name}`)}:19000::::::\n`, { flag: 'a' });
  writeFileSync(at('group'), 'root:x:0:\npeople:x:7100:\nAdmins:x:7101:dora,emil\n');
  // A module that hangs for one user, as modules of networks do.
  writeFileSync(at('slow'), '#!/bin/sh\n[ "$PAM_USER" = gus ] && sleep 600\nexit 1\n', { mode: 0o755 });
  writeFileSync(at('pam.d/muster'), service.replace('HANG', at('slow')));
  server = await startServer({
    config: `[accounts]
sources = ["pam"]
checkEvery = 1
[pam]
timeout = 3
[socket]
path = "${at('muster.sock')}"
accounts = true
`,
    files: {
      '/etc/passwd': at('passwd'),
      '/etc/shadow': at('shadow'),
      '/etc/group': at('group'),
      '/etc/pam.d': at('pam.d'),
    },
  });
  await server.ok('POST', '/policy/5', { name: '@admins', commands: 'nodels,lsdef', rule: 'allow' });
});
afterAll(async () => {
  await server?.stop();
  rmSync(machine, { recursive: true, force: true });
});

const logIn = (userName: string, userPW = `pw-${userName}`) =>
  server.call('POST', '/tokens', { body: { userName, userPW }, token: null });
const tokenOf = async (name: string): Promise<string> => {
  const { status, json } = await logIn(name);
  expect([name, status]).toEqual([name, 201]);
  return json.token.id as string;
};
const statusOf = async (token: string, path = '/nodes'): Promise<number> =>
  (await server.call('GET', path, { token })).status;

describe('a user of the machine', () => {
  it('logs in with the password that the machine knows, and has its groups', async () => {
    const token = await tokenOf('dora');
    expect(await statusOf(token)).toBe(200);
    expect(await server.ok('GET', '/policy/explain?user=dora&command=nodels')).toMatchObject({
      source: 'pam',
      groups: ['admins', 'people'],
      why: ['Rule 5, which is for the group admins, allows it.'],
    });
    expect((await logIn('dora', 'wrong')).status).toBe(401);
    expect((await logIn('nobody-here')).status).toBe(401);
    // A number is no name.
    expect((await logIn('7001', 'pw-dora')).status).toBe(401);
  });

  it('needs no login at the socket of the machine once muster knows it', async () => {
    const ask = (uid: number): string =>
      execFileSync(
        'setpriv',
        [
          '--reuid',
          String(uid),
          '--clear-groups',
          'curl',
          '-s',
          '--unix-socket',
          at('muster.sock'),
          'http://x/muster/nodes',
        ],
        { encoding: 'utf8' },
      );
    expect(ask(7001)).toBe('[]\n');
    // Nobody has logged in as these.
    expect(ask(7003)).toContain('There is no account');
    expect(ask(7055)).toContain('Authentication failure');
  });

  it('that hangs in a module costs nobody else anything', async () => {
    const hung = logIn('gus');
    expect((await logIn('root', 'cluster')).status).toBe(201);
    await tokenOf('emil');
    const { status, headers, json } = await hung;
    expect([status, headers['retry-after']]).toEqual([503, '5']);
    expect(json.error[0]).toContain('users of this machine cannot be checked now');
    await expect.poll(() => server.output()).toContain('PAM has not answered within 3 s');
  });

  it.each<[what: string, name: string, change: () => void]>([
    ['leaves a group', 'dora', () => replace('group', 'dora,emil', 'emil')],
  ])('that %s loses its rights, and keeps its token', async (_what, name, change) => {
    const token = await tokenOf(name);
    expect(await statusOf(token)).toBe(200);
    change();
    await expect.poll(() => statusOf(token)).toBe(403);
    expect(await statusOf(token, '/tokens')).toBe(200);
  });

  it.each<[what: string, name: string, change: () => void]>([
    ['is locked', 'emil', () => replace('shadow', 'emil:$', 'emil:!$')],
    [
      'expires',
      'dora',
      () => replace('shadow', /^dora:.*$/m.exec(readFileSync(at('shadow'), 'utf8'))![0], 'dora:x:19000:::::1:'),
    ],
    ['is removed', 'fred', () => replace('passwd', 'fred:x:', 'gone:x:')],
  ])('that %s loses its token', async (_what, name, change) => {
    const token = await tokenOf(name);
    change();
    await expect.poll(() => statusOf(token, '/tokens')).toBe(401);
    expect((await logIn(name)).status).toBe(401);
  });

  // The last one: it ends the tokens of root.
  it("that is root is not muster's root", async () => {
    expect((await logIn('root', 'machine-root')).status).toBe(401);
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=deputy', { password: 'deputy' });
    await server.ok('POST', '/policy/2', { name: 'deputy', rule: 'allow' });
    const { token } = (await logIn('deputy', 'deputy')).json;
    await server.ok('DELETE', '/tables/passwd/rows/key=xcat,username=root', undefined, { token: token.id });
    expect((await logIn('root', 'machine-root')).status).toBe(401);
  });
});
