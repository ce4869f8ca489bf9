import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { webcrypto } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkedRequest } from '../../src/drivers/certificates/request-check.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const own = '10.0.0.1';
let keys: x509.X509CertificateCreateSelfSignedParams['keys'];

beforeAll(async () => {
  keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as typeof keys;
});

const named = (value: string): x509.Extension =>
  new x509.SubjectAlternativeNameExtension([{ type: value === own ? 'ip' : 'dns', value }]);
/** What a request asks for, as an attribute of it. */
const asking = (...extensions: readonly x509.Extension[]): x509.ExtensionsAttribute =>
  new x509.ExtensionsAttribute([...extensions]);
const older = (...extensions: readonly x509.Extension[]): x509.Attribute =>
  new x509.Attribute('1.3.6.1.4.1.311.2.1.14', [...asking(...extensions).values]);

interface Wanted {
  readonly extensions?: x509.Extension[];
  readonly attributes?: x509.Attribute[];
}

async function check(wanted: Wanted): Promise<string> {
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [own] }],
    keys,
    signingAlgorithm: algorithm,
    ...wanted,
  });
  return checkedRequest(request.toString('pem'), [own]);
}

describe('a request for a certificate', () => {
  it('is taken for the names of the BMC', async () => {
    expect(await check({ extensions: [named(own)] })).toContain('BEGIN CERTIFICATE REQUEST');
    expect(await check({ extensions: [named(own), new x509.BasicConstraintsExtension(false)] })).toContain('BEGIN');
  });

  it.each<[what: string, wanted: () => Wanted, says: RegExp]>([
    ['another name', () => ({ extensions: [named('muster')] }), /asks for the name "muster"/],
    ['another name behind its own', () => ({ extensions: [named(own), named('muster')] }), /more than one place/],
    [
      'another name in another list',
      () => ({ attributes: [asking(named(own)), asking(named('muster'))] }),
      /more than/,
    ],
    ['another name in the older form', () => ({ attributes: [older(named('muster'))] }), /more than one place/],
    ['signing others', () => ({ extensions: [new x509.BasicConstraintsExtension(true)] }), /to be an authority/],
  ])('is refused that is for %s', async (_what, wanted, says) => {
    await expect(check(wanted())).rejects.toThrow(says);
  });
});
