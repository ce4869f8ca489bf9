import type { X509Certificate } from 'node:crypto';
import { Type } from 'typebox';
import type { NodeValue } from '../core/results.ts';
import { Fault } from '../core/errors.ts';
import {
  type Certificates,
  type CertificateSubject,
  checkedRequest,
  type DeviceTarget,
  endOf,
  namesIn,
  namesOfBmc,
  refuseSharedBmc,
} from '../drivers/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { deviceAddress, hardwareOnWorkers, perNode, useDevice } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  action: Type.Enum(['list', 'request']),
  subject: Type.Optional(Type.String({ description: 'of requests: O=...,OU=...,L=...,ST=...,C=..' })),
});

interface Wanted {
  readonly action: 'list' | 'request';
  readonly subject: CertificateSubject;
}

interface Target {
  readonly device: DeviceTarget;
  readonly names: readonly string[];
}

/** The certificates of BMCs, and requests by which an authority of the site can sign others. Neither changes what BMCs show. */
export const bmccertificates = perNode({
  name: 'bmccertificates',
  args,
  uses: ['hardware'],
  line: ({ action, subject }) => [action, ...(subject === undefined ? [] : [withoutSecrets(subject)])],
  outlivesClient: ({ action }) => action === 'request',
  select(snapshot, given, services) {
    subjectIn(given.subject);
    return selectNodes(snapshot, given, services);
  },
  prepare(snapshot, { action, subject }, { hardware, permits }) {
    const targets = hardware.targets(snapshot, 'bmccertificates', 'certificates');
    return {
      shared: { action, subject: subjectIn(subject) },
      async target(node: string): Promise<Target> {
        const device = await targets(node);
        // A BMC has one request at a time.
        if (action === 'request') refuseSharedBmc(snapshot, node, (other) => permits({ nodes: [other] }));
        return { device, names: namesOfBmc(snapshot, node, device) };
      },
    };
  },
  sentTo: ({ device }: Target) => deviceAddress(device),
  onWorkers: {
    ...hardwareOnWorkers([], () => 'Send it again: the certificate that its BMC shows has not changed.'),
    takes: ({ device }: Target) => device.staysHere !== true,
  },
  work: (wanted: Wanted, { device, names }: Target, task) =>
    useDevice(
      device,
      'certificates',
      task,
      (certificates) => carryOut(certificates, wanted, names, task.signal),
      wanted.action === 'list',
    ),
});

async function carryOut(
  certificates: Certificates,
  { action, subject }: Wanted,
  names: readonly string[],
  signal: AbortSignal,
): Promise<NodeValue> {
  if (action === 'request') {
    const request = await certificates.request(names, subject, signal);
    if (request === undefined)
      throw new Fault(
        'invalid',
        'its BMC cannot request certificates by Redfish. Make one on its web page, or have muster sign: POST /nodes/NODE/sp/certificates.',
      );
    return { request: await checkedRequest(request, names) };
  }
  const served = await certificates.served(signal);
  const others = (await certificates.stored(signal)).filter((each) => each.fingerprint256 !== served.fingerprint256);
  return { shown: shown(served), ...(others.length > 0 ? { others: others.map(shown) } : {}) };
}

const oneLine = (text: string): string =>
  text
    .replace(/\n/g, ', ')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 1_024);

const shown = (certificate: X509Certificate) => ({
  subject: oneLine(certificate.subject),
  issuer: oneLine(certificate.issuer),
  names: namesIn(certificate).map(oneLine).join(', '),
  ends: endOf(certificate),
  fingerprint: certificate.fingerprint256,
});

const members: Readonly<Record<string, keyof CertificateSubject>> = {
  O: 'organization',
  OU: 'unit',
  L: 'city',
  ST: 'state',
  C: 'country',
};

/** What BMCs demand of a request, where nobody says it. */
const usual: CertificateSubject = {
  organization: 'muster',
  unit: 'BMC',
  city: 'Unknown',
  state: 'Unknown',
  country: 'XX',
};

function subjectIn(text: string | undefined): CertificateSubject {
  if (text === undefined) return usual;
  const found: Partial<Record<keyof CertificateSubject, string>> = {};
  for (const part of text.split(',')) {
    const [, name = '', value = ''] = /^\s*([A-Z]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    const member = Object.hasOwn(members, name) ? members[name] : undefined;
    if (!member || !/^[\w .&'()/-]{1,64}$/.test(value))
      throw new Fault(
        'invalid',
        `"${withoutSecrets(part.trim())}" is no part of a subject: give O=, OU=, L=, ST= and C=, such as O=Example,OU=HPC,L=Bonn,ST=NRW,C=DE.`,
      );
    found[member] = value;
  }
  if (found.country !== undefined && !/^[A-Z]{2}$/.test(found.country))
    throw new Fault('invalid', 'The country (C) has two capital letters.');
  return { ...usual, ...found };
}
