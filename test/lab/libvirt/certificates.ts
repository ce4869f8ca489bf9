import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** An authority, and certificates of it under the names that libvirt gives them: of a daemon called `name`, and of a client. */
export function makeCertificates(directory: string, name: string): void {
  mkdirSync(directory);
  const file = (base: string): string => join(directory, `${base}.pem`);
  const make = (base: string, subject: string, ...more: string[]): void => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file(`${base}key`)];
    const rest = ['-out', file(`${base}cert`), '-days', '2', '-subj', `/CN=${subject}`];
    execFileSync('openssl', ['req', '-x509', ...key, ...rest, ...more], { stdio: 'ignore' });
  };
  const extensions = (...list: string[]): string[] => list.flatMap((extension) => ['-addext', extension]);
  make('ca', 'lab authority', ...extensions('keyUsage=critical,keyCertSign'));
  const signed = ['-CA', file('cacert'), '-CAkey', file('cakey')];
  const usual = ['basicConstraints=critical,CA:FALSE', 'keyUsage=critical,digitalSignature,keyEncipherment'];
  make('server', name, ...signed, ...extensions(...usual, 'extendedKeyUsage=serverAuth', `subjectAltName=DNS:${name}`));
  make('client', 'muster', ...signed, ...extensions(...usual, 'extendedKeyUsage=clientAuth'));
}
