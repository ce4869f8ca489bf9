import type { X509Certificate } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { at, linkAt, linksAt, localPath, textsAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import { readable } from '../../protocols/redfish/session.ts';
import { shownCertificate } from '../../protocols/redfish/shown-certificate.ts';
import { isTransport, portOf } from '../../protocols/redfish/trust.ts';
import { certificatesIn, longestChain } from '../certificates/chain.ts';
import type { Certificates } from '../certificates.ts';
import { managerFor, type Target } from './target.ts';

/** Milliseconds that a connection may take by which nothing is asked. */
const lookTimeout = 10_000;
const action = (name: string): string => `#CertificateService.${name}`;

interface Place {
  readonly service: Resource | undefined;
  /** Of the certificates for HTTPS. */
  readonly collection: string;
  readonly members: readonly Resource[];
}

/** DSP0266 "Certificates": CertificateService, and the collection of those that the web server has. */
export function redfishCertificates(target: Target): Certificates {
  const { service, access, trust } = target;
  return {
    host: access.address,
    timeout: target.certificateTimeout,
    served: (signal) => servedBy(target, signal),
    async stored(signal) {
      const { members } = await placeOf(target, signal);
      return members.flatMap(({ body }) => certificatesAt(body));
    },
    async request(names, subject, signal) {
      const place = await placeOf(target, signal);
      const offered = at(place.service?.body, 'Actions', action('GenerateCSR'));
      const path = localPath(at(offered, 'target'));
      if (path === undefined) return undefined;
      const order = {
        CertificateCollection: { '@odata.id': place.collection },
        CommonName: names[0],
        AlternativeNames: names,
        Organization: subject.organization,
        OrganizationalUnit: subject.unit,
        City: subject.city,
        State: subject.state,
        Country: subject.country,
        ...keyKind(offered),
      };
      const reply = await service.order(path, order, signal);
      const request = at(readable(reply), 'CSRString');
      if (typeof request !== 'string')
        throw new Fault('garbled', 'its BMC took the order to make a request for a certificate, but sent none.');
      return request;
    },
    async install(pem, signal) {
      const place = await placeOf(target, signal);
      const old = await memberThatIsShown(place, trust.known(access.node));
      const replaces = at(place.service?.body, 'Actions', action('ReplaceCertificate'));
      const path = localPath(at(replaces, 'target'));
      const kinds = textsAt(replaces, 'CertificateType@Redfish.AllowableValues');
      const isChain = pem.split('-----BEGIN CERTIFICATE-----').length > 2 && kinds.includes('PEMchain');
      const given = { CertificateString: pem, CertificateType: isChain ? 'PEMchain' : 'PEM' };
      try {
        if (path === undefined || !old) await service.act(place.collection, given, signal);
        else await service.act(path, { ...given, CertificateUri: { '@odata.id': old.path } }, signal);
      } finally {
        // An open connection goes on with the certificate that it began with.
        service.reconnect();
      }
    },
  };
}

export async function servedBy(target: Target, signal: AbortSignal): Promise<X509Certificate> {
  const { service, trust } = target;
  const { endpoint } = service;
  const { address: host, transport = 'tls' } = endpoint;
  if (!isTransport(transport) || transport === 'http')
    throw new Fault('invalid', 'muster reaches its BMC without TLS (bmctransport is http), so it has no certificate.');
  return shownCertificate({ host, port: portOf(endpoint) }, transport, trust.ca, lookTimeout, signal);
}

async function placeOf(target: Target, signal: AbortSignal): Promise<Place> {
  const { service } = target;
  const certificates = await rootMember(service, 'CertificateService', signal);
  const manager = await managerFor(target, signal);
  const protocol = await service.find(linkAt(manager?.body, 'NetworkProtocol'), signal);
  const collection =
    linkAt(protocol?.body, 'HTTPS', 'Certificates') ?? (await listedCollection(target, certificates, signal));
  if (collection === undefined)
    throw new Fault('invalid', 'its BMC does not show the certificates of its web server; use its own web page.');
  return { service: certificates, collection, members: await memberResources(service, collection, signal) };
}

/** Some services name the certificates only in a list of all that they have. */
async function listedCollection(
  { service }: Target,
  certificates: Resource | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const locations = await service.find(linkAt(certificates?.body, 'CertificateLocations'), signal);
  const one = linksAt(locations?.body, 'Links', 'Certificates').find((path) => /\/HTTPS\/Certificates\//i.test(path));
  return one?.replace(/\/[^/]+\/?$/, '');
}

/** With several certificates, the one that the service shows is the one to replace. */
async function memberThatIsShown({ members }: Place, shown: string | undefined): Promise<Resource | undefined> {
  const plain = shown?.replaceAll(':', '').toLowerCase();
  const same = members.find(({ body }) =>
    certificatesAt(body).some(({ fingerprint256 }) => fingerprint256.replaceAll(':', '').toLowerCase() === plain),
  );
  return same ?? members[0];
}

function certificatesAt(body: unknown): readonly X509Certificate[] {
  const pem = at(body, 'CertificateString');
  return typeof pem === 'string' && pem.length <= longestChain ? certificatesIn(pem).slice(0, 1) : [];
}

/** Where the service lists what keys it makes: RSA, which all clients know, with the least number of bits that is enough. */
function keyKind(offered: unknown): Readonly<Record<string, unknown>> {
  const algorithms = textsAt(offered, 'KeyPairAlgorithm@Redfish.AllowableValues');
  const listed = at(offered, 'KeyBitLength@Redfish.AllowableValues');
  const bits = (Array.isArray(listed) ? listed : []).map(Number).filter((each) => each >= 2_048 && each <= 8_192);
  if (!algorithms.includes('TPM_ALG_RSA') || bits.length === 0) return {};
  return { KeyPairAlgorithm: 'TPM_ALG_RSA', KeyBitLength: Math.min(...bits) };
}
