import { generateKeyPairSync, type KeyObject, type X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueAuthority, issueServer } from '../../src/access/issue-certificates.ts';
import { runMuster, startServer, temporaryDirectory } from '../harness/server.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

/** Its certificate has the first address only. Neither is one that muster takes for its own machine. */
const [named, unnamed] = ['127.0.0.2', '127.0.0.3'] as const;
const scratch = temporaryDirectory();
const file = (name: string): string => join(scratch, name);

let postgres: Postgres;
let port: number;

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** An authority whose certificate is in a file of that name. */
async function authority(name: string): Promise<{ certificate: X509Certificate; key: KeyObject }> {
  const key = newKey();
  const certificate = await issueAuthority(key);
  writeFileSync(file(name), certificate.toString());
  return { certificate, key };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, named);
  await once(server, 'listening');
  const { port: free } = server.address() as { port: number };
  server.close();
  return free;
}

beforeAll(async () => {
  const key = newKey();
  const certificate = await issueServer(await authority('site.pem'), key, [named]);
  await authority('other.pem');
  port = await freePort();
  const tls = { certificate: certificate.toString(), key: pem(key) };
  postgres = await makePostgres('muster', { addresses: [named, unnamed], port, tls });
});
afterAll(() => postgres?.remove());

const url = (parameters: string, host: string = named, user = 'kea:secret'): string =>
  `postgresql://${user}@${host}:${port}/muster?${parameters}`;

const refusal = async (database: string, more: Record<string, string> = {}): Promise<string> => {
  const environment = { MUSTER_DATABASE: database, ...more };
  const { code, output } = await runMuster(['--data', temporaryDirectory(), '--listen', '127.0.0.1:0'], environment);
  expect(code).toBe(1);
  expect(output).not.toContain('secret@');
  return output;
};

const verified = (): string => `sslrootcert=${encodeURIComponent(file('site.pem'))}`;

describe('a database on a network', () => {
  it('is used only if its certificate is from an authority that is known', async () => {
    const unknown = await refusal(url(''));
    expect(unknown).toContain(`The database ${named}:${port}/muster cannot be used`);
    expect(unknown).not.toContain('Node.js');
    expect(unknown).toContain('Name a file with that authority at the end of the URL: ?sslrootcert=FILE.');
    expect(await refusal(url('sslmode=require'))).toContain('?sslrootcert=FILE.');
    const other = await refusal(url(`sslrootcert=${encodeURIComponent(file('other.pem'))}`));
    expect(other).toContain(`not from the authority in ${file('other.pem')}`);
  });

  it('is used only if its certificate has the address of the URL', async () => {
    const refused = await refusal(url(verified(), unnamed));
    expect(refused).toContain(`The database ${unnamed}:${port}/muster cannot be used`);
    expect(refused).toContain('Write a name into the URL that the certificate has');
  });

  it('is used over TLS by every connection', async () => {
    const server = await startServer({ environment: { MUSTER_DATABASE: url(verified()) } });
    await server.ok('POST', '/nodes/n1', { groups: 'all' });
    const connections = postgres.query(
      "select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'muster'",
    );
    expect(connections).toBe('t');
    await server.stop();
  });

  it('is not used without TLS where it has none, unless the URL says so', async () => {
    await postgres.kill();
    await postgres.start('ssl=off');
    const refused = await refusal(url(''));
    expect(refused).toContain('Turn TLS on there');
    expect(refused).toContain('?sslmode=disable');
    // The user of the other servers has a key that this one does not have: it came as far as that.
    expect(await refusal(url('sslmode=disable'))).toContain('secret.key');
    await postgres.kill();
    await postgres.start();
  });

  it('is refused for what a URL says that is not known', async () => {
    expect(await refusal(url('sslmode=prefer'))).toContain('sslmode=prefer, which muster does not know');
    expect(await refusal(url('sslrotcert=x'))).toContain('the parameter "sslrotcert", which muster does not know');
    expect(await refusal(url(`sslrootcert=${file('nosuch')}`))).toContain('no such file or directory');
  });
});

it('a password that is changed in its file is used at the next connection', async () => {
  const databasePasswordFile = file('password');
  const settings = {
    MUSTER_DATABASE: url(verified(), named, 'muster'),
    MUSTER_DATABASE_PASSWORD_FILE: databasePasswordFile,
  };
  postgres.query("create user muster password 'before' superuser");
  postgres.query('create database own owner muster');
  const environment = { ...settings, MUSTER_DATABASE: settings.MUSTER_DATABASE.replace('/muster?', '/own?') };
  writeFileSync(databasePasswordFile, 'wrong\n');
  const wrong = await refusal(environment.MUSTER_DATABASE, environment);
  expect(wrong).toContain(`Check the user, the password in ${databasePasswordFile} and pg_hba.conf`);
  writeFileSync(databasePasswordFile, 'before\n');
  const server = await startServer({ environment });
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
  postgres.query("alter user muster password 'after'");
  postgres.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'muster'");
  const write = (rack: string) => server.call('PUT', '/nodes/n1', { body: { rack } });
  await expect.poll(async () => (await write('r1')).text).toContain('password authentication failed');
  writeFileSync(databasePasswordFile, 'after\n');
  await expect.poll(async () => (await write('r2')).status).toBe(200);
  await expect.poll(async () => (await server.call('GET', '/health')).status).toBe(200);
  expect((await server.ok('GET', '/changes?limit=1')).changes).toHaveLength(1);
  await server.stop();
});
