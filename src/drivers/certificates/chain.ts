import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { problemOfKey } from './request-check.ts';

/** Characters of a certificate with those that lead to its authority. */
export const longestChain = 65_536;
const mostCertificates = 8;
const block = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** The certificates of a PEM text that can be read. */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  return [...pem.matchAll(block)].flatMap(([text]) => {
    try {
      return [new X509Certificate(text)];
    } catch {
      return [];
    }
  });
}

export interface Chain {
  readonly leaf: X509Certificate;
  readonly pem: string;
}

/** A certificate that somebody else has signed, and those that lead to its authority; a Fault says why it is none for this BMC. */
export function chainFor(host: string, text: string): Chain {
  if (text.includes('PRIVATE KEY'))
    throw new Fault('invalid', 'the file has a private key: leave it out, its BMC keeps its own.');
  if (text.length > longestChain) throw new Fault('invalid', `the certificate has ${text.length} characters.`);
  const all = certificatesIn(text);
  const [leaf] = all;
  if (!leaf || all.length !== text.split('-----BEGIN CERTIFICATE-----').length - 1)
    throw new Fault('invalid', 'the file is not a certificate in PEM form.');
  if (all.length > mostCertificates) throw new Fault('invalid', `the file has ${all.length} certificates.`);
  const problem = problemOfLeaf(leaf, host);
  if (problem) throw new Fault('invalid', problem);
  for (const [index, certificate] of all.entries()) {
    const next = all[index + 1];
    if (next && !isSignedBy(certificate, next))
      throw new Fault('invalid', `certificate ${index + 1} of the file is not signed by the one behind it.`);
  }
  return { leaf, pem: `${all.map((each) => each.toString().trim()).join('\n')}\n` };
}

function problemOfLeaf(leaf: X509Certificate, host: string): string | undefined {
  if (leaf.ca) return 'the first certificate of the file is one of an authority; the one of the BMC comes first.';
  if (!isFor(leaf, host))
    return `the certificate is not for ${host}, where muster reaches its BMC; its names are ${namesIn(leaf).join(', ') || 'none'}.`;
  const now = Date.now();
  if (Date.parse(leaf.validTo) < now) return `the certificate ended on ${leaf.validTo}.`;
  if (Date.parse(leaf.validFrom) > now) return `the certificate is not valid before ${leaf.validFrom}.`;
  const weakness = problemOfKey(leaf.publicKey);
  return weakness && `muster does not use the certificate: ${weakness}.`;
}

const isFor = (leaf: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? leaf.checkHost(host, { subject: 'never' }) : leaf.checkIP(host)) !== undefined;

/** Names and addresses that a certificate is for. */
export const namesIn = ({ subjectAltName = '' }: X509Certificate): readonly string[] =>
  subjectAltName === '' ? [] : subjectAltName.split(', ').map((name) => name.replace(/^(?:DNS|IP Address):/, ''));

/** As ISO 8601 has it, where it can be read. */
export function endOf({ validTo }: X509Certificate): string {
  const end = Date.parse(validTo);
  return Number.isNaN(end) ? 'unknown' : new Date(end).toISOString();
}

const isSignedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

/** Whether certificates lead to one that is trusted. */
export function leadsTo(chain: readonly X509Certificate[], trusted: readonly X509Certificate[]): boolean {
  const last = chain.at(-1);
  return (
    last !== undefined && trusted.some((each) => each.fingerprint256 === last.fingerprint256 || isSignedBy(last, each))
  );
}
