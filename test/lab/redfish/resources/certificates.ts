import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Bmc } from '../bmc.ts';
import { makeRequest } from '../certificate.ts';
import { certificateWays, hasCertificateService } from '../certificate-ways.ts';
import type { CertificateFaults } from '../protocol.ts';
import { collection, done, failure, type Json, link, type Reply, root, textOf, unknownMember } from '../resource.ts';
import { managerPath } from './manager.ts';

/** The certificate of a web server. */
export interface WebCertificate {
  pem: string;
  key: string;
  /** Of the last request for one. */
  requestedKey: string | undefined;
  /** What it is to serve when it has restarted. */
  later: { readonly cert: string; readonly key: string } | undefined;
  faults: CertificateFaults;
  /** Has the web server show it. */
  serve(cert: string, key: string): void;
}

const service = `${root}/CertificateService`;
const pathOf = (bmc: Bmc): string => `${managerPath(bmc)}/NetworkProtocol/HTTPS/Certificates`;

export function addCertificates(bmc: Bmc): void {
  const ways = certificateWays[bmc.kind];
  if (!ways) return;
  const path = pathOf(bmc);
  const member = `${path}/${bmc.tag}`;
  const { makesRequests, replaces } = ways;
  bmc.resources.set(
    path,
    collection(path, 'Certificate', () => [member], {
      ...(replaces ? {} : { post: (body: Json) => install(bmc, body) }),
      privilege: 'ConfigureManager',
    }),
  );
  bmc.resources.set(member, {
    get: () => ({
      '@odata.id': member,
      '@odata.type': '#Certificate.v1_5_0.Certificate',
      Id: bmc.tag,
      Name: 'HTTPS certificate',
      CertificateString: bmc.web.later?.cert ?? bmc.web.pem,
      CertificateType: 'PEM',
    }),
  });
  if (!hasCertificateService(bmc)) return;
  const actions = `${service}/Actions`;
  const generate = `${actions}/CertificateService.GenerateCSR`;
  const replace = `${actions}/CertificateService.ReplaceCertificate`;
  bmc.resources.set(service, {
    get: () => ({
      '@odata.id': service,
      '@odata.type': '#CertificateService.v1_0_3.CertificateService',
      Id: 'CertificateService',
      Name: 'Certificate Service',
      CertificateLocations: link(`${service}/CertificateLocations`),
      Actions: {
        ...(makesRequests ? { '#CertificateService.GenerateCSR': { target: generate } } : {}),
        '#CertificateService.ReplaceCertificate': { target: replace },
      },
    }),
  });
  bmc.resources.set(`${service}/CertificateLocations`, {
    get: () => ({
      '@odata.id': `${service}/CertificateLocations`,
      '@odata.type': '#CertificateLocations.v1_0_2.CertificateLocations',
      Id: 'CertificateLocations',
      Name: 'Certificate Locations',
      Links: { Certificates: [link(member)] },
    }),
  });
  if (makesRequests)
    bmc.resources.set(generate, { post: (body) => request(bmc, body, path), privilege: 'ConfigureManager' });
  bmc.resources.set(replace, {
    post: (body) => {
      const { CertificateUri, ...others } = body;
      if ((CertificateUri as { '@odata.id'?: string } | undefined)?.['@odata.id'] !== member)
        return failure(400, 'ActionParameterValueError', 'CertificateUri is not a certificate of this service.');
      return install(bmc, others);
    },
    privilege: 'ConfigureManager',
  });
}

/** What OpenBMC demands. */
const needed = ['CommonName', 'City', 'Country', 'State', 'Organization', 'OrganizationalUnit'];

async function request(bmc: Bmc, body: Json, path: string): Promise<Reply> {
  const missing = needed.find((name) => !body[name]);
  if (missing) return failure(400, 'ActionParameterMissing', `The action GenerateCSR requires ${missing}.`);
  if ((body.CertificateCollection as { '@odata.id'?: string } | undefined)?.['@odata.id'] !== path)
    return failure(400, 'ActionParameterValueError', 'CertificateCollection is not one of this service.');
  const { requests = 'right' } = bmc.web.faults;
  const names = requests === 'foreign' ? ['muster.example.com'] : ((body.AlternativeNames as string[]) ?? []);
  const commonName = requests === 'foreign' ? 'muster.example.com' : textOf(body.CommonName);
  const made = await makeRequest(commonName, names, requests === 'weak');
  bmc.web.requestedKey = made.key;
  const text = {
    right: made.pem,
    foreign: made.pem,
    weak: made.pem,
    giant: `-----BEGIN CERTIFICATE REQUEST-----\n${'QUFB\n'.repeat(100_000)}-----END CERTIFICATE REQUEST-----\n`,
    garbage: 'no request at all',
    // The key of the request is another's, so its signature is wrong.
    forged: made.forged,
  }[requests];
  return { status: 200, body: { CSRString: text, CertificateCollection: link(path) } };
}

function install(bmc: Bmc, body: Json): Reply {
  const { web } = bmc;
  const { CertificateString, CertificateType, ...others } = body;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return unknownMember(unknown);
  const pem = textOf(CertificateString);
  const sent = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(pem)?.[0];
  const key = sent ?? web.requestedKey;
  if (CertificateType !== 'PEM' || key === undefined || !isPair(pem, key))
    return failure(400, 'ActionParameterValueError', `The certificate ${pem} cannot be installed.`);
  if (web.faults.refuses) return failure(400, 'PropertyValueError', `The certificate ${pem} is not wanted.`);
  const { installs = 'at once' } = web.faults;
  const cert = sent === undefined ? pem : pem.replace(sent, '');
  if (installs === 'never') return done;
  web.requestedKey = undefined;
  if (installs === 'after a restart') web.later = { cert, key };
  else setTimeout(() => web.serve(cert, key), 20);
  return done;
}

function isPair(pem: string, key: string): boolean {
  try {
    return new X509Certificate(pem).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
