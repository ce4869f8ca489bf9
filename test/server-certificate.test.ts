import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadCredentials } from '../src/rest/http/certificates.ts';
import { ensureOwnCertificate, followCertificates } from '../src/server-certificate.ts';
import { temporaryDirectory } from './harness/server.ts';

let data: string;
let server: Server;
const logged: string[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) });

beforeEach(async () => {
  logged.length = 0;
  data = temporaryDirectory();
  await ensureOwnCertificate(config());
  server = createServer(loadCredentials(config()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  server.close();
  rmSync(data, { recursive: true });
});

const config = () => ({ data, tls: undefined, listen: [{ host: '127.0.0.1', port: 8443 }] });

/** Puts a certificate of the same authority and key into the file that ends in so many days. */
function endIn(days: number, file = join(data, 'tls/server.pem')): void {
  const tls = (name: string): string => join(data, 'tls', name);
  const request = execFileSync('openssl', ['req', '-new', '-key', tls('server.key'), '-subj', '/CN=old']);
  const signer = ['-CA', tls('ca.pem'), '-CAkey', tls('ca.key'), '-set_serial', '7'];
  const words = ['x509', '-req', '-days', String(days), ...signer];
  writeFileSync(file, execFileSync('openssl', words, { input: request, stdio: ['pipe', 'pipe', 'ignore'] }));
}

/** What a client gets that trusts the authority. */
async function shown(): Promise<{ readonly daysLeft: number; readonly isFor127: boolean }> {
  const ca = readFileSync(join(data, 'tls/ca.pem'));
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', ca, checkServerIdentity: () => undefined });
  await once(socket, 'secureConnect');
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  const certificate = new X509Certificate(raw);
  const daysLeft = (certificate.validToDate.getTime() - Date.now()) / 86_400_000;
  return { daysLeft, isFor127: certificate.checkIP('127.0.0.1') !== undefined };
}

const show = (credentials: { cert: string; key: string }): void => server.setSecureContext(credentials);

test('a server renews its certificate before it ends, and new connections get the new one', async () => {
  endIn(20);
  show(loadCredentials(config()));
  expect((await shown()).daysLeft).toBeLessThan(21);
  const followed = followCertificates({ config: config(), log, show }, { look: 20 });
  await expect.poll(shown, { timeout: 20_000 }).toEqual({ daysLeft: expect.closeTo(825, 0), isFor127: true });
  await followed.close();
  expect(logged.join('')).toContain('the certificate of this server was renewed');
});

test('a certificate that the settings name is left alone', async () => {
  const file = join(data, 'own.pem');
  endIn(20, file);
  const before = readFileSync(file);
  const looked = Promise.withResolvers<void>();
  const tls = { certificate: file, key: join(data, 'tls/server.key') };
  const busFile = join(data, 'bus/nats.pem');
  mkdirSync(join(data, 'bus'));
  copyFileSync(file, busFile);
  const watching = {
    ...log,
    warn: (sentence: string) => {
      logged.push(sentence);
      looked.resolve();
    },
  } as unknown as typeof log;
  const shownCredentials: unknown[] = [];
  const followed = followCertificates(
    { config: { ...config(), tls }, log: watching, show: (credentials) => void shownCredentials.push(credentials) },
    { look: 20 },
  );
  // That of NATS is looked at after it.
  await looked.promise;
  await followed.close();
  expect([readFileSync(file), shownCredentials]).toEqual([before, []]);
  expect(logged).toEqual([
    expect.stringMatching(
      /^The certificate of NATS, \S+nats\.pem, is valid until \d{4}-\d\d-\d\d\. Run muster bus-config again, and copy the new file to NATS and to the other servers\.$/,
    ),
  ]);
});

test('a certificate that cannot be renewed is named, and stays in use', async () => {
  endIn(20);
  show(loadCredentials(config()));
  rmSync(join(data, 'tls/ca.key'));
  const followed = followCertificates({ config: config(), log, show }, { look: 20 });
  await expect
    .poll(() => logged.join(''), { timeout: 20_000 })
    .toMatch(/must be renewed, but \S+ca\.key is missing.*could not be renewed/);
  await followed.close();
  expect((await shown()).daysLeft).toBeLessThan(21);
});

test('whoever stops following waits for a renewal that has begun', async () => {
  endIn(20);
  const begun = Promise.withResolvers<void>();
  const watched = {
    ...config(),
    get listen() {
      begun.resolve();
      return config().listen;
    },
  };
  const certificates: string[] = [];
  const keep = ({ cert }: { cert: string }): void => void certificates.push(cert);
  const followed = followCertificates({ config: watched, log, show: keep }, { look: 20 });
  await begun.promise;
  await followed.close();
  expect(certificates.map((text) => new X509Certificate(text).checkIP('127.0.0.1'))).toEqual(['127.0.0.1']);
});
