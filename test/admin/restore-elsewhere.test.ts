import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

let parent: string;
let old: TestServer;
beforeAll(async () => {
  parent = temporaryDirectory();
  old = await startServer({ hostname: 'oldhost' });
}, 120_000);
afterAll(() => rmSync(parent, { recursive: true, force: true }));

it('a backup serves on a machine with another name, address, user and data directory', {
  timeout: 180_000,
}, async () => {
  await old.ok('POST', '/nodes/n1', {
    groups: 'all',
    mgt: 'ipmi',
    bmc: '10.2.0.1',
    bmcusername: 'admin',
    bmcpassword: 'old-secret',
  });
  const file = join(parent, 'cluster.tar');
  expect(await runMuster(['--data', old.data, 'backup', file])).toMatchObject({ code: 0 });
  const certificate = (data: string): X509Certificate =>
    new X509Certificate(readFileSync(join(data, 'tls/server.pem')));
  expect(certificate(old.data).checkHost('oldhost')).toBe('oldhost');
  const authority = join(parent, 'ca.pem');
  execFileSync('cp', [join(old.data, 'tls/ca.pem'), authority]);
  await old.stop();

  const data = join(parent, 'srv/elsewhere/data');
  mkdirSync(data, { recursive: true });
  // Whoever runs it there has another number.
  execFileSync('chown', ['-R', 'nobody', parent]);
  execFileSync('chmod', ['711', parent]);
  const asNobody = ['--reuid=nobody', '--regid=nogroup', '--clear-groups'];
  const muster = join(import.meta.dirname, '../../dist/main.js');
  const env = { PATH: process.env['PATH'], MUSTER_DATA: data };
  execFileSync('setpriv', [...asNobody, process.execPath, muster, 'restore', file], { env });

  const server = await startServer({
    data,
    hostname: 'newhost',
    listen: ['127.0.0.1:0', '127.0.0.2:0'],
    ca: readFileSync(authority, 'utf8'),
  });
  try {
    expect(certificate(data).checkHost('newhost')).toBe('newhost');
    expect(certificate(data).checkIP('127.0.0.2')).toBe('127.0.0.2');
  } finally {
    await server.stop();
  }
  const tables = join(parent, 'tables');
  expect(await runMuster(['--data', data, 'export', tables, '--with-secrets'])).toMatchObject({ code: 0 });
  expect(readFileSync(join(tables, 'ipmi.csv'), 'utf8')).toContain('old-secret');
});
