import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readJoinFile } from '../../src/admin/join.ts';
import { sealWith } from '../../src/admin/sealed-file.ts';
import { Client } from '../harness/client.ts';
import { atTerminal } from '../harness/muster-command.ts';
import { runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

const passphrase = 'correct horse battery';
const scratch = temporaryDirectory();
const passphraseFile = join(scratch, 'passphrase');
const file = join(scratch, 'joining');

let postgres: Postgres;
let first: TestServer;
let database: Record<string, string>;

const muster = (data: string, ...words: string[]) => runMuster(['--data', data, 'join', ...words], database);
const withPassphrase = ['--passphrase-file', passphraseFile];
const take = (data: string, from = file) => runMuster(['--data', data, 'join', from, ...withPassphrase]);
const authorityOf = (data: string): string => readFileSync(join(data, 'tls/ca.pem'), 'utf8');

/** Everything below a directory that is not of the moment. */
const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .flatMap((entry) => (entry.isFile() ? join(entry.parentPath, entry.name).slice(directory.length + 1) : []))
    .filter((name) => !name.startsWith('lock.sqlite'))
    .toSorted();

beforeAll(async () => {
  postgres = await makePostgres('muster');
  database = { MUSTER_DATABASE: postgres.url };
  first = await startServer({ environment: database });
  await first.ok('POST', '/nodes/n1', { groups: 'all' });
  mkdirSync(join(first.data, 'bus/workers'), { recursive: true });
  mkdirSync(join(first.data, 'bus/files/sn1'), { recursive: true });
  for (const name of [
    'bus/ca.pem',
    'bus/server.seed',
    'bus/workers/sn1.seed',
    'bus/workers/sn2.seed',
    'bus/files/sn1/f',
  ])
    writeFileSync(join(first.data, name), `content of ${name}\n`);
  writeFileSync(passphraseFile, `${passphrase}\n`);
  const exported = await muster(first.data, '--export', file, ...withPassphrase);
  expect(exported).toMatchObject({ code: 0, output: expect.stringContaining(`join ${file}`) });
}, 60_000);
afterAll(async () => {
  await first?.stop();
  await postgres?.remove();
});

describe('a machine that joins', () => {
  it('serves the same data, with a certificate of the same authority', async () => {
    const data = join(temporaryDirectory(), 'new');
    const { code, output } = await take(data);
    expect(code).toBe(0);
    const [url, password] = ['database', 'databasePasswordFile'].map((name) =>
      JSON.parse(new RegExp(`^${name} = (.*)$`, 'm').exec(output)![1]!),
    );
    expect([url.includes('secret'), readFileSync(password, 'utf8')]).toEqual([false, 'secret']);
    expect(output).toContain(`muster --data ${data} --config /etc/muster/muster.toml serve`);
    expect(output).toContain(`[names]\nserver = "${hostname()}"\n[dhcp]\nserver = "${hostname()}"\n`);
    const settings = /^database =[^]*?(?=\n\n)/m.exec(output)![0];
    const second = await startServer({ data, config: `${settings}\n`, ca: authorityOf(first.data) });
    expect((await second.ok('GET', '/nodes/n1')).n1.groups).toBe('all');
    await second.ok('PUT', '/nodes/n1', { rack: 'by-the-second' });
    await expect.poll(async () => (await first.ok('GET', '/nodes/n1')).n1.rack).toBe('by-the-second');
    const client = new Client(second.port, authorityOf(first.data));
    expect((await client.call('GET', '/nodes/n1', { token: first.token })).status).toBe(200);
    client.close();
    const own = ['tls/server.pem', 'tls/server.key'].map((name) => readFileSync(join(data, name), 'utf8'));
    expect(own).not.toContain(readFileSync(join(first.data, 'tls/server.pem'), 'utf8'));
    for (const name of ['secret.key', 'ssh/id_ed25519', 'tls/ca.key', 'bus/server.seed', 'bus/workers/sn2.seed'])
      expect([
        readFileSync(join(data, name)).equals(readFileSync(join(first.data, name))),
        statSync(join(data, name)).mode & 0o777,
      ]).toEqual([true, 0o600]);
    expect(existsSync(join(data, 'bus/files'))).toBe(false);
    await second.stop();
    // The same once more changes nothing.
    expect(await take(data)).toMatchObject({ code: 0 });
  });

  it('writes over nothing, and writes all or nothing', async () => {
    const data = temporaryDirectory();
    mkdirSync(join(data, 'ssh'));
    writeFileSync(join(data, 'ssh/id_ed25519'), 'of another cluster');
    writeFileSync(join(data, 'secret.key'), 'another');
    const refused = await take(data);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain(
      'has other files with the same names: secret.key, ssh/id_ed25519. Nothing was written.',
    );
    expect(filesBelow(data)).toEqual(['secret.key', 'ssh/id_ed25519']);
    const used = temporaryDirectory();
    const other = await startServer({ data: used });
    expect(await take(used)).toMatchObject({ code: 1, output: expect.stringContaining(used) });
    await other.stop();
    const left = filesBelow(used);
    const others = await take(used);
    expect(others.output).toMatch(/same names: secret.key, tls\/ca.pem, tls\/ca.key, ssh/);
    expect(filesBelow(used)).toEqual(left);
  });

  it('takes no certificate for its own that another authority made', async () => {
    const data = temporaryDirectory();
    mkdirSync(join(data, 'tls'));
    writeFileSync(join(data, 'tls/server.pem'), 'of another authority');
    expect((await take(data)).output).toContain('same names: tls/server.pem.');
  });
});

describe('the file', () => {
  it('is for its owner alone, and holds nothing in clear text', () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, 'latin1');
    for (const word of ['PRIVATE', 'secret', 'seed', 'postgresql']) expect(text).not.toContain(word);
  });

  it('is never written over, and not for a short passphrase', async () => {
    const before = readFileSync(file);
    const again = await muster(first.data, '--export', file, ...withPassphrase);
    expect(again).toMatchObject({ code: 1, output: expect.stringContaining(`${file} exists already`) });
    expect(readFileSync(file).equals(before)).toBe(true);
    const short = join(scratch, 'short');
    writeFileSync(short, 'short\n');
    const other = join(scratch, 'other');
    const refused = await muster(first.data, '--export', other, '--passphrase-file', short);
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('at least 12 characters') });
    expect(existsSync(other)).toBe(false);
  });

  it('opens with its passphrase only, and only as it was written', async () => {
    const data = join(temporaryDirectory(), 'new');
    const wrong = join(scratch, 'wrong');
    writeFileSync(wrong, 'another passphrase\n');
    expect(await runMuster(['--data', data, 'join', file, '--passphrase-file', wrong])).toMatchObject({
      code: 1,
      output: expect.stringContaining('The passphrase is wrong'),
    });
    const sealed = readFileSync(file);
    const changed = join(scratch, 'changed');
    // In the salt, in the nonce, in the middle and in the last byte.
    for (const [place, sentence] of [
      [25, 'The passphrase is wrong'],
      [55, 'was changed or cut off'],
      [sealed.length >> 1, 'was changed or cut off'],
      [sealed.length - 1, 'was changed or cut off'],
    ] as const) {
      const bytes = Buffer.from(sealed);
      bytes[place]! ^= 1;
      writeFileSync(changed, bytes);
      expect((await take(data, changed)).output).toContain(sentence);
    }
    writeFileSync(changed, sealed.subarray(0, -100));
    expect((await take(data, changed)).output).toContain('was changed or cut off');
    writeFileSync(changed, 'something else');
    expect((await take(data, changed)).output).toContain('is not a file that muster join --export');
    expect(existsSync(data)).toBe(false);
  });

  it('shows nothing on the terminal that its writer could have made the terminal do', async () => {
    const made = join(scratch, 'made');
    const contents = { from: 'mn1', made: 'now', worker: 'sn1', bus: ['tls://nats1:4222'], files: [] };
    const reading = async (odd: object) => {
      writeFileSync(made, await sealWith(passphrase, Buffer.from(JSON.stringify({ ...contents, ...odd }))));
      return readJoinFile(made, passphrase);
    };
    expect(await reading({})).toEqual(contents);
    for (const odd of [
      { from: 'mn1\ndatabase = "postgresql://elsewhere/muster"' },
      { made: '\u001B]0;title\u0007' },
      { worker: 'sn1\nrm -r x' },
      { bus: ['tls://nats1\u009B2J'] },
      { daemons: { names: 'mn1', dhcp: '\u009B2J' } },
    ])
      await expect(reading(odd)).rejects.toThrow('was not written by muster join --export of this version');
  });

  it('asks for the passphrase at a terminal, twice when it is new', async () => {
    const env = { ...database, HOME: scratch };
    const target = join(scratch, 'asked');
    const words = ['--data', first.data, 'join', '--export', target];
    const asked = [['New passphrase:', `${passphrase}\r`]] as const;
    const different = await atTerminal(words, env, [...asked, ['The same again:', 'something else\r']]);
    expect(different).toMatchObject({ code: 1, screen: expect.stringContaining('are not the same') });
    expect(existsSync(target)).toBe(false);
    const same = await atTerminal(words, env, [...asked, ['The same again:', `${passphrase}\r`]]);
    expect(same).toMatchObject({ code: 0, screen: expect.not.stringContaining(passphrase) });
    const data = join(temporaryDirectory(), 'new');
    const taken = await atTerminal(['--data', data, 'join', target], env, [['Passphrase of', `${passphrase}\r`]]);
    expect(taken).toMatchObject({ code: 0, screen: expect.stringContaining('secret.key') });
    const nobody = await muster(first.data, '--export', join(scratch, 'nobody'));
    expect(nobody).toMatchObject({ code: 1, output: expect.stringContaining('--passphrase-file') });
  });
});

it('a worker gets its own credentials, and no key of the cluster', async () => {
  const target = join(scratch, 'worker');
  const exported = await muster(first.data, '--export', target, '--worker', 'sn1', ...withPassphrase);
  expect(exported).toMatchObject({ code: 0, output: expect.stringContaining('bus/ca.pem, bus/workers/sn1.seed.') });
  const data = join(temporaryDirectory(), 'new');
  const taken = await take(data, target);
  expect(taken).toMatchObject({ code: 0, output: expect.stringContaining('worker --name sn1') });
  expect(filesBelow(data)).toEqual(['bus/ca.pem', 'bus/workers/sn1.seed']);
  const unknown = await muster(first.data, '--export', join(scratch, 'sn9'), '--worker', 'sn9', ...withPassphrase);
  expect(unknown).toMatchObject({ code: 1, output: expect.stringContaining('muster bus-config --worker sn9') });
  for (const name of ['../sn1', ''])
    expect(
      await muster(first.data, '--export', join(scratch, 'odd'), '--worker', name, ...withPassphrase),
    ).toMatchObject({
      code: 1,
      output: expect.stringContaining('is no name of a worker'),
    });
});

it('files that the URL of the database names come along, and the password has a file of its own', async () => {
  const [authority, password, target] = ['authority', 'password', 'with-files'].map((name) => join(scratch, name));
  writeFileSync(authority!, 'the authority of the site\n');
  writeFileSync(password!, 'from-the-file\n');
  const environment = {
    MUSTER_DATABASE: `postgresql://muster@db.example.org/muster?sslrootcert=${encodeURIComponent(authority!)}`,
    MUSTER_DATABASE_PASSWORD_FILE: password!,
  };
  const words = ['--data', first.data, 'join', '--export', target!, ...withPassphrase];
  expect(await runMuster(words, environment)).toMatchObject({ code: 0 });
  const data = join(temporaryDirectory(), 'new');
  const { output } = await take(data, target);
  const url = new URL(JSON.parse(/^database = (.*)$/m.exec(output)![1]!));
  expect(url.searchParams.get('sslrootcert')).toBe(join(data, 'database/ca.pem'));
  expect(readFileSync(join(data, 'database/ca.pem'), 'utf8')).toBe('the authority of the site\n');
  expect(readFileSync(join(data, 'database/password'), 'utf8')).toBe('from-the-file\n');
});

it('a server whose data are in SQLite has none to share', async () => {
  const alone = await startServer();
  const refused = await runMuster(['--data', alone.data, 'join', '--export', join(scratch, 'x'), ...withPassphrase]);
  expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('muster move --to') });
  await alone.stop();
});
