import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
export const rsa = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2_048,
  publicExponent: new Uint8Array([1, 0, 1]),
};
const day = 24 * 60 * 60 * 1000;

export interface CertificateMaker {
  /** The one private key of all services. */
  readonly key: string;
  /** A self-signed certificate unlike any before. */
  make(address: string): Promise<string>;
}

export interface MadeRequest {
  readonly pem: string;
  /** The same names with a signature that the key has not made. */
  readonly forged: string;
  readonly key: string;
}

/** A request for a certificate, with a key of its own. */
export async function makeRequest(commonName: string, names: readonly string[], isWeak: boolean): Promise<MadeRequest> {
  const algorithm = isWeak ? { ...rsa, modulusLength: 1_024 } : ecdsa;
  type Pair = x509.X509CertificateCreateSelfSignedParams['keys'];
  const [keys, others] = (await Promise.all(
    [algorithm, algorithm].map((each) => webcrypto.subtle.generateKey(each, true, ['sign', 'verify'])),
  )) as [Pair, Pair];
  const make = (pair: Pair) =>
    x509.Pkcs10CertificateRequestGenerator.create({
      name: [{ CN: [commonName] }, { O: ['Lab Systems'] }],
      keys: pair,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const),
        ),
      ],
    });
  const pem = (await make(keys)).toString('pem');
  const forged = (await make({ publicKey: others.publicKey, privateKey: keys.privateKey })).toString('pem');
  return { pem: `${pem}\n`, forged, key: pemOfKey(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)) };
}

const pemOfKey = (der: ArrayBuffer): string =>
  `-----BEGIN PRIVATE KEY-----\n${Buffer.from(der)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')}\n-----END PRIVATE KEY-----\n`;

export async function certificateMaker(algorithm: typeof ecdsa | typeof rsa = ecdsa): Promise<CertificateMaker> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  let serial = 0;
  return {
    key: pemOfKey(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
    async make(address) {
      serial += 1;
      const certificate = await x509.X509CertificateGenerator.createSelfSigned({
        serialNumber: serial.toString(16).padStart(8, '0'),
        name: `CN=${address}, O=Lab Systems`,
        notBefore: new Date(Date.now() - day),
        notAfter: new Date(Date.now() + 365 * day),
        signingAlgorithm: algorithm,
        keys: keys as x509.X509CertificateCreateSelfSignedParams['keys'],
        extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: address }])],
      });
      return certificate.toString('pem');
    },
  };
}
