import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tables } from '../../src/database/tables.ts';
import { ended, muster } from '../harness/muster-command.ts';
import { written } from '../harness/output.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

let server: TestServer;
let data: string;
let logFile: string;
/** By where each was planted. */
const planted = new Map<string, string>();
const secret = (where: string): string => {
  const value = `Sesam${randomBytes(9).toString('hex')}`;
  planted.set(where, value);
  return value;
};

const row = (table: string, keys: string, columns: object) =>
  server.ok('PUT', `/tables/${table}/rows/${keys}`, columns);

/** Values that make rows of these tables valid. */
const beside: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  passwd: { username: 'root' },
  ipmi: { bmc: '127.0.0.9' },
  hooks: { url: 'https://hooks.example.org/x', kinds: 'run' },
};
/** muster alone writes these. */
const own = new Set(['token', 'bmcrotation', 'oidcgrant']);

beforeAll(async () => {
  data = temporaryDirectory();
  logFile = join(data, 'muster.log');
  const environment = { MUSTER_ROOT_PASSWORD: 'cluster', MUSTER_LOG_LEVEL: 'debug', MUSTER_LOG_FILE: logFile };
  server = await startServer({ data, environment });
  await server.ok('POST', '/nodes/n1', { groups: 'all,grp', mgt: 'ipmi' });
  await server.ok('POST', '/osimages/deb12', {
    osvers: 'debian12',
    osarch: 'x86_64',
    provmethod: 'netboot',
    imagetype: 'linux',
  });
  // Every column that the tables say is secret.
  for (const [name, table] of tables) {
    if (table.secret.size === 0 || own.has(name)) continue;
    const columns = Object.fromEntries([...table.secret].map((column) => [column, secret(`${name}.${column}`)]));
    const keys = table.keys.filter((key) => !table.secret.has(key));
    const named = keys.map((key) => `${key}=${key === 'username' ? 'root' : key === 'key' ? 'system' : 'n1'}`);
    const { username: _name, ...more } = beside[name] ?? {};
    await row(name, named.join(','), { ...more, ...columns });
  }
  await row('ipmi', 'node=grp', { password: secret('a group') });
  await row('passwd', 'key=xcat,username=anna', { password: secret('an account') });
  // What only its name or its form says.
  await row('site', 'key=apitoken', { value: secret('a site attribute') });
  await row('osimage', 'imagename=deb12', { environvar: `MYSQL_PASSWORD=${secret('environvar')}` });
  await row('linuximage', 'imagename=deb12', {
    pkgdir: `https://mirror:${secret('pkgdir')}@mirror.example.org/debian`,
    otherpkgdir: `https://mirror.example.org/x?token=${secret('otherpkgdir')}`,
    comments: `-----BEGIN PRIVATE KEY----- ${secret('a key in a comment')} -----END PRIVATE KEY-----`,
  });
  await row('nodelist', 'node=n1', { comments: `the password: ${secret('a comment')}` });
  await row('bootparams', 'node=n1', {
    addkcmdline: `quiet rootpw=${secret('kernel arguments')} inst.ks=http://u:${secret('a URL in kernel arguments')}@h/ks`,
  });
  await row('postscripts', 'node=n1', { postscripts: `setup --token=${secret('a postscript')}` });
  await row('hooks', 'name=other', {
    url: `https://hooks.example.org/push?api_key=${secret("a hook's URL")}`,
    kinds: 'run',
    disable: '1',
  });
  await row('notification', 'filename=told', { comments: `curl -H "Authorization: Bearer ${secret('a header')}"` });
  // Requests, also those that fail.
  const wrong = { userName: 'root', userPW: secret('a wrong password in a body') };
  expect((await server.call('POST', '/tokens', { body: wrong, token: null })).status).toBe(401);
  const query = { userName: 'root', userPW: secret('a wrong password in a query') };
  await server.call('GET', '/nodes', { query, token: null });
  await server.call('GET', '/nodes', { token: secret('a token that is none') });
  await server.call('PUT', '/nodes/n1/nodeshell', {
    body: { command: [`mysql --password=${secret('a command')} -e 1`] },
  });
  await server.call('PUT', '/nodes/n1', { body: { nosuch: `password=${secret('a value that is refused')}` } });
  await server.call('POST', `/nodes/n2`, {
    body: { groups: 'all', bmcpassword: secret('a change that is refused'), mgt: 'no' },
  });
  // Files of the server.
  const overlays = join(server.data, 'files/overlay');
  mkdirSync(overlays, { recursive: true });
  writeFileSync(join(overlays, 'my.cnf.tmpl'), `password=${secret('an overlay template')}\n`);
  writeFileSync(join(server.data, 'files/answers.tmpl'), `rootpw --plaintext ${secret('an answer file')}\n`);
  const key = readFileSync(join(server.data, 'secret.key'));
  for (const form of ['base64', 'hex'] as const) planted.set(`the key as ${form}`, key.toString(form));
  for (const file of ['tls/ca.key', 'tls/server.key', 'ssh/id_ed25519']) {
    const [, line = ''] = readFileSync(join(server.data, file), 'utf8').split('\n');
    planted.set(file, line);
  }
  planted.set("root's token", server.token);
}, 120_000);
afterAll(async () => {
  await server.stop();
  rmSync(data, { recursive: true, force: true });
});

/** The text as it may stand in a file: plain, in base64 at each of the three places where it can begin, and for URLs. */
const formsOf = (text: string): string[] => [
  text,
  encodeURIComponent(text),
  Buffer.from(text).toString('hex'),
  ...[0, 1, 2].map((before) => {
    const whole = Buffer.from('x'.repeat(before) + text).toString('base64');
    // The first and the last characters also stand for what is before and behind.
    return whole.slice(before === 0 ? 0 : 4, -4);
  }),
];

it('muster support gathers facts and none of 40 secrets', { timeout: 120_000 }, async () => {
  const directory = join(server.data, 'support');
  mkdirSync(directory, { mode: 0o700 });
  const env = {
    HOME: server.data,
    MUSTER_URL: `unix:${join(server.data, 'muster.sock')}`,
    MUSTER_TOKEN: server.token,
    MUSTER_PASSPHRASE: secret('a variable'),
    XCAT_PASSWORD: secret('a variable of xCAT'),
    DSH_KEY: secret('a variable of dsh'),
  };
  const logged = await written(server, logFile);
  // What its own log would never hold.
  for (const line of [
    { msg: 'odd', password: secret('a member in the log file') },
    { msg: `mysql --password=${secret('a text in the log file')}` },
    { msg: 'the last line' },
  ])
    appendFileSync(logFile, `${JSON.stringify(line)}\n`);
  appendFileSync(logFile, `no line of muster: ${secret('a line that is not JSON in the log file')}\n`);
  expect(planted.size).toBeGreaterThanOrEqual(40);
  const { code, stdout, stderr } = await ended(muster, ['support', '-d', directory], env);
  expect([code, stderr]).toEqual([0, '']);
  const [archive = ''] = readdirSync(directory);
  expect(stdout).toContain(archive);
  expect(statSync(join(directory, archive)).mode & 0o777).toBe(0o600);
  execFileSync('tar', ['-xzf', join(directory, archive), '-C', directory]);
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== archive)
    .map((entry) => join(entry.parentPath, entry.name));
  const names = files.map((file) => file.split('/').at(-1));
  expect(names).toEqual(expect.arrayContaining(['health.json', 'doctor.json', 'runs.json', 'log.txt', 'ipmi.json']));
  const texts = new Map([...files.map((file) => [file, readFileSync(file, 'utf8')] as const), ['the log', logged]]);
  const found = [...planted].flatMap(([where, value]) =>
    [...texts]
      .filter(([, text]) => formsOf(value).some((form) => text.includes(form)))
      .map(([file]) => `${where} in ${file}`),
  );
  expect(found).toEqual([]);
  // What is no secret is there.
  const log = readFileSync(files.find((file) => file.endsWith('log-file.txt'))!, 'utf8');
  expect(log).toContain('the last line');
  expect(log).toContain('/muster/tables/:tablelist/rows');
  expect([...texts.values()].join()).toContain('mirror.example.org/debian');
  expect(readFileSync(files.find((file) => file.endsWith('bootparams.json'))!, 'utf8')).toContain('quiet');
});
