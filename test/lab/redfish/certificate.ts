import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
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

export async function certificateMaker(algorithm: typeof ecdsa | typeof rsa = ecdsa): Promise<CertificateMaker> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  let serial = 0;
  return {
    key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n`,
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
