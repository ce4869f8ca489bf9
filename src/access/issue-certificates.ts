import 'reflect-metadata';
import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import * as x509 from '@peculiar/x509';

const day = 24 * 60 * 60 * 1000;
const caDays = 3650;
const serverDays = 825;
/** Certificates begin in the past, since clients' clocks run behind. */
const clockSkew = 60 * 60 * 1000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

const importPrivate = (key: KeyObject) =>
  crypto.subtle.importKey('pkcs8', key.export({ type: 'pkcs8', format: 'der' }), algorithm, false, ['sign']);
/** Of a pair, or of the public half of another's, which may be of another kind. */
const publicOf = (key: KeyObject) => (key.type === 'public' ? key : createPublicKey(key));
const spkiOf = (key: KeyObject) => new x509.PublicKey(publicOf(key).export({ type: 'spki', format: 'der' }));

const lifetime = (days: number) => ({
  notBefore: new Date(Date.now() - clockSkew),
  notAfter: new Date(Date.now() + days * day),
});

/** `what`: the first word of its name. */
export async function issueAuthority(key: KeyObject, what = 'muster CA'): Promise<X509Certificate> {
  const publicKey = await crypto.subtle.importKey(
    'spki',
    publicOf(key).export({ type: 'spki', format: 'der' }),
    algorithm,
    true,
    ['verify'],
  );
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    // The time keeps two authorities of one machine apart in a client's store.
    name: [{ O: ['muster'] }, { CN: [`${what} ${hostname().slice(0, 32)} ${new Date().toISOString().slice(0, 16)}`] }],
    keys: { publicKey, privateKey: await importPrivate(key) },
    signingAlgorithm: algorithm,
    ...lifetime(caDays),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return new X509Certificate(made.toString('pem'));
}

export interface Authority {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

/** `key`: the pair, or its public half. */
export async function issueServer(
  authority: Authority,
  key: KeyObject,
  names: readonly string[],
  commonName = hostname(),
): Promise<X509Certificate> {
  const issuer = new x509.X509Certificate(authority.certificate.raw);
  const publicKey = spkiOf(key);
  // With an RSA key, old clients encrypt what they agree upon.
  const { digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
  const usages = publicOf(key).asymmetricKeyType === 'rsa' ? digitalSignature | keyEncipherment : digitalSignature;
  const { notBefore, notAfter } = lifetime(serverDays);
  const made = await x509.X509CertificateGenerator.create({
    subject: [{ O: ['muster'] }, { CN: [commonName.slice(0, 64)] }],
    issuer: issuer.subjectName,
    publicKey,
    signingKey: await importPrivate(authority.key),
    signingAlgorithm: algorithm,
    notBefore,
    notAfter: new Date(Math.min(notAfter.getTime(), issuer.notAfter.getTime())),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(usages, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value }) as const),
      ),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(spkiOf(authority.key)),
    ],
  });
  return new X509Certificate(made.toString('pem'));
}
