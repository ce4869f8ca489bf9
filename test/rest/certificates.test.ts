import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ensureCertificates, loadCredentials, namesInHostsFile } from '../../src/rest/http/certificates.ts';

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'muster-tls-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(data, { recursive: true });
});

const day = 24 * 60 * 60 * 1000;
const mode = (file: string) => statSync(file).mode & 0o777;
const certificateIn = (file: string) => new X509Certificate(readFileSync(file));
const at = (days: number) => vi.useFakeTimers({ now: Date.now() + days * day, toFake: ['Date'] });

describe('ensureCertificates', () => {
  it('makes an authority and a server certificate that openssl accepts for every local name', async () => {
    const made = await ensureCertificates(data);
    expect(made).toMatchObject({ created: true, issued: true, ca: join(data, 'tls/ca.pem') });
    const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
    const verify = (...args: string[]) =>
      execFileSync(
        'openssl',
        ['verify', '-x509_strict', '-purpose', 'sslserver', ...args, '-CAfile', made.ca, made.certificate],
        {
          encoding: 'utf8',
          stdio: 'pipe',
        },
      );
    for (const address of ['127.0.0.1', '::1', ...addresses]) expect(verify('-verify_ip', address)).toMatch(/: OK/);
    for (const name of ['localhost', hostname()]) expect(verify('-verify_hostname', name)).toMatch(/: OK/);
    expect(() => verify('-verify_hostname', 'other.example')).toThrow(/hostname mismatch/i);
  });

  it('uses P-256, ten years for the authority and 825 days for the server', async () => {
    const { ca, certificate } = await ensureCertificates(data, ['n.example']);
    for (const [file, days] of [
      [ca, 3650],
      [certificate, 825],
    ] as const) {
      const parsed = certificateIn(file);
      expect(parsed.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
      expect(Math.round((parsed.validToDate.getTime() - Date.now()) / day)).toBe(days);
      expect(parsed.validFromDate.getTime()).toBeLessThan(Date.now());
    }
    expect(certificateIn(ca).ca).toBe(true);
    expect(certificateIn(certificate).ca).toBe(false);
  });

  it('keeps the keys to their owner', async () => {
    const { key } = await ensureCertificates(data, ['n']);
    expect(mode(join(data, 'tls'))).toBe(0o700);
    expect([mode(key), mode(join(data, 'tls/ca.key'))]).toEqual([0o600, 0o600]);
  });

  it('changes nothing at the next start', async () => {
    const first = await ensureCertificates(data, ['n']);
    const before = readFileSync(first.certificate, 'utf8');
    expect(await ensureCertificates(data, ['n'])).toEqual({ ...first, created: false, issued: false });
    expect(readFileSync(first.certificate, 'utf8')).toBe(before);
  });

  it('renews the server certificate thirty days before its end, with the same key and authority', async () => {
    const { ca, certificate, key } = await ensureCertificates(data, ['n']);
    const before = { ca: readFileSync(ca, 'utf8'), key: readFileSync(key, 'utf8') };
    at(794);
    expect(await ensureCertificates(data, ['n'])).toMatchObject({ created: false, issued: false });
    at(796 - 794);
    expect(await ensureCertificates(data, ['n'])).toMatchObject({ created: false, issued: true });
    expect({ ca: readFileSync(ca, 'utf8'), key: readFileSync(key, 'utf8') }).toEqual(before);
    expect(certificateIn(certificate).checkIssued(certificateIn(ca))).toBe(true);
  });

  it('never certifies the server for longer than its authority, and replaces an authority at its end', async () => {
    const { ca, certificate } = await ensureCertificates(data, ['n']);
    at(3500);
    await ensureCertificates(data, ['n']);
    expect(certificateIn(certificate).validTo).toBe(certificateIn(ca).validTo);
    at(3630 - 3500);
    expect(await ensureCertificates(data, ['n'])).toMatchObject({ created: true, issued: true });
  });

  it('finishes what a crash left half-done', async () => {
    const { certificate } = await ensureCertificates(data, ['n']);
    rmSync(certificate);
    expect(await ensureCertificates(data, ['n'])).toMatchObject({ created: false, issued: true });
    rmSync(join(data, 'tls/ca.pem'));
    rmSync(certificate);
    expect(await ensureCertificates(data, ['n'])).toMatchObject({ created: true, issued: true });
    expect(() => loadCredentials({ data, tls: undefined })).not.toThrow();
  });

  it('serves on without the key of the authority, and asks for it when it must renew', async () => {
    const { certificate } = await ensureCertificates(data, ['n']);
    rmSync(join(data, 'tls/ca.key'));
    expect(await ensureCertificates(data, ['n'])).toMatchObject({ issued: false });
    rmSync(certificate);
    await expect(ensureCertificates(data, ['n'])).rejects.toThrow(/ca\.key is missing .* Put the key back/);
  });
});

describe('loadCredentials', () => {
  it('returns a pair that serves clients who trust the authority', async () => {
    const { ca } = await ensureCertificates(data);
    const server = createServer(loadCredentials({ data, tls: undefined }), (socket) => socket.end('hello'));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const received = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca: readFileSync(ca) });
      socket.once('data', (bytes) => resolve(String(bytes)));
      socket.once('error', reject);
    });
    server.close();
    expect(received).toBe('hello');
  });

  it('prefers the certificate of the user', async () => {
    const { certificate, key } = await ensureCertificates(data, ['own.example']);
    copyFileSync(certificate, join(data, 'own.pem'));
    const own = loadCredentials({ data: '/nowhere', tls: { certificate: join(data, 'own.pem'), key } });
    expect(new X509Certificate(own.cert).subjectAltName).toBe('DNS:own.example');
  });

  it('says what is wrong with a pair that cannot serve', async () => {
    const { certificate, key } = await ensureCertificates(data, ['n']);
    const load = (tls: { certificate: string; key: string }) => () => loadCredentials({ data, tls });
    expect(load({ certificate, key: join(data, 'tls/ca.key') })).toThrow(/ca\.key does not belong to .*server\.pem/);
    expect(load({ certificate: key, key })).toThrow(/server\.key holds no certificate/);
    expect(load({ certificate, key: certificate })).toThrow(/server\.pem holds no unencrypted private key/);
    expect(load({ certificate: join(data, 'none'), key })).toThrow(/The certificate cannot be read: .*none/);
    writeFileSync(join(data, 'empty'), '');
    expect(load({ certificate, key: join(data, 'empty') })).toThrow(/empty holds no unencrypted private key/);
  });
});

it.each([
  ['127.0.1.1 mn.cluster.example mn', ['mn.cluster.example', 'mn']],
  ['10.0.0.1\tMN.Cluster.Example # the old name: mn', ['mn.cluster.example']],
  ['10.0.0.2 mn2.cluster.example mn2', []],
  ['# 10.0.0.2 mn', []],
  ['', []],
])('finds the full name of "mn" in the hosts line %j', (line, names) => {
  expect(namesInHostsFile(line, 'mn')).toEqual(names);
});
