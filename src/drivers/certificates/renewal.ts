import { generateKeyPairSync, type X509Certificate } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { parseIp } from '../../core/ip.ts';
import type { Origin } from '../../database/changeset.ts';
import type { HeldNames } from '../../database/held-names.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { domainOf } from '../../objects/networks.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { nodesOfBmc } from '../bmc/shared-bmcs.ts';
import type { Certificates, CertificateSubject } from '../certificates.ts';
import { ClaimedJobs, type JobNote } from '../claimed-jobs.ts';
import type { Devices, DeviceTarget, DeviceUser } from '../devices.ts';
import type { Hardware } from '../hardware.ts';
import type { BmcAuthority } from './authority.ts';
import { type Chain, certificatesIn, chainFor, leadsTo } from './chain.ts';
import type { PendingCertificates } from './pending.ts';
import { keyOfRequest } from './request-check.ts';
import { settleCertificate } from './settle.ts';

/** A BMC, and the nodes that it serves. */
export interface CertificateJob {
  readonly key: string;
  readonly nodes: readonly string[];
  readonly target: DeviceTarget;
  /** As definitions have them: nobody else's are in a certificate. */
  readonly names: readonly string[];
}

/** `kept`: it does not end soon. `waiting`: the BMC has it, and shows the one before until it is restarted. */
export interface CertificateOutcome {
  readonly did: 'kept' | 'replaced' | 'waiting';
  readonly certificate: X509Certificate;
}

interface Services {
  readonly hardware: Hardware;
  readonly devices: Devices;
  readonly pending: PendingCertificates;
  readonly authority: BmcAuthority;
  readonly held: HeldNames<JobNote>;
  /** The authorities that muster believes certificates of BMCs by, as PEM; undefined: it keeps their fingerprints. */
  readonly ca: string | undefined;
}

const command = 'bmccertify';
/** How long what has begun on a BMC is waited for, besides its timeout, in milliseconds. */
const settleTimeout = 60_000;
const day = 86_400_000;
const nodesPerTurn = 256;

/** In requests for certificates that muster signs itself, which takes nothing but the key from them. */
const anySubject: CertificateSubject = {
  organization: 'muster',
  unit: 'BMC',
  city: 'Unknown',
  state: 'Unknown',
  country: 'XX',
};

/**
 * Gives BMCs new certificates. What a certificate is to be is on disk before it is sent, and the one before counts until the BMC has shown
 * the new one: whatever ends in between, muster takes either.
 */
export class CertificateRenewal {
  readonly #services: Services;
  readonly claims: ClaimedJobs<CertificateJob>;

  constructor(services: Services) {
    this.#services = services;
    this.claims = new ClaimedJobs(services.held);
  }

  /** The certificate of muster's authority for BMCs; undefined: it has signed nothing yet. */
  get authority(): X509Certificate | undefined {
    return this.#services.authority.certificate;
  }

  /** The BMCs of nodes, each once, with all nodes that they serve; a Fault for nodes that have none. */
  async jobs(
    snapshot: Snapshot,
    nodes: readonly string[],
  ): Promise<{ readonly jobs: readonly CertificateJob[]; readonly failed: ReadonlyMap<string, Fault> }> {
    const targets = this.#services.hardware.targets(snapshot, command, 'certificates');
    const jobs = new Map<string, CertificateJob>();
    const failed = new Map<string, Fault>();
    for (const [index, node] of nodes.entries()) {
      if (index % nodesPerTurn === nodesPerTurn - 1) await nextTurn();
      try {
        const target = await targets(node);
        if (jobs.get(target.device)?.nodes.includes(node)) continue;
        const sharing = new Set([node]);
        for (const other of nodesOfBmc(snapshot, node))
          if ((await deviceOf(targets, other)) === target.device) sharing.add(other);
        const names = namesOfBmc(snapshot, node, target);
        jobs.set(target.device, { key: target.device, nodes: [...sharing], target, names });
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        failed.set(node, error);
      }
    }
    return { jobs: [...jobs.values()], failed };
  }

  /** Signs one itself. `within`: only if the one that is shown ends within so many days. */
  renew(job: CertificateJob, within: number | undefined, by: DeviceUser, origin: Origin): Promise<CertificateOutcome> {
    return this.#work(job, by, origin, async (certificates) => {
      const shown = await certificates.served(by.signal);
      if (within !== undefined && Date.parse(shown.validTo) > Date.now() + within * day)
        return { did: 'kept', certificate: shown };
      const chain = await this.#signed(certificates, job, by.signal, origin);
      return this.#install(certificates, job, chain, shown, origin);
    });
  }

  /** Installs one that somebody else has signed. */
  install(job: CertificateJob, pem: string, by: DeviceUser, origin: Origin): Promise<CertificateOutcome> {
    return this.#work(job, by, origin, async (certificates) => {
      const chain = chainFor(certificates.host, pem);
      const { ca } = this.#services;
      if (ca !== undefined && !leadsTo(certificatesIn(chain.pem), certificatesIn(ca)))
        throw new Fault(
          'invalid',
          'the certificate does not lead to an authority in the file of the setting hardware.ca, so muster could not reach its BMC any more. Add the certificates in between to the file, or the authority to the setting.',
        );
      return this.#install(certificates, job, chain, await certificates.served(by.signal), origin);
    });
  }

  async #work(
    { nodes, target }: CertificateJob,
    by: DeviceUser,
    origin: Origin,
    work: (certificates: Certificates) => Promise<CertificateOutcome>,
  ): Promise<CertificateOutcome> {
    const { devices, pending } = this.#services;
    try {
      return await devices.use(target, 'certificates', by, work);
    } finally {
      // Its turn never came, or it failed before anything was sent.
      await pending.drop(
        nodes.filter((node) => pending.of(node) === undefined),
        origin,
      );
    }
  }

  /** By muster's authority: of the BMC's own key if it makes requests, else of one that is made for it here. */
  async #signed(
    certificates: Certificates,
    { names }: CertificateJob,
    signal: AbortSignal,
    origin: Origin,
  ): Promise<Chain> {
    const authority = await this.#services.authority.open(origin);
    const { ca } = this.#services;
    if (ca !== undefined && !leadsTo([authority.certificate], certificatesIn(ca)))
      throw new Fault(
        'invalid',
        'muster believes only the authorities in the file of the setting hardware.ca, and its own for BMCs is not among them. Add it to the file (GET /bmcauthority shows it) and restart muster, or have your own authority sign: POST /nodes/NODE/sp/certificaterequests and PUT /nodes/NODE/sp/certificates.',
      );
    const { issueServer } = await import('../../access/issue-certificates.ts');
    const request = await certificates.request(names, anySubject, signal);
    const [first = ''] = names;
    if (request !== undefined) {
      const { key } = await keyOfRequest(request, names);
      const leaf = await issueServer(authority, key, names, first);
      return { leaf, pem: leaf.toString() };
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const leaf = await issueServer(authority, privateKey, names, first);
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    return { leaf, pem: `${key}${leaf.toString()}` };
  }

  async #install(
    certificates: Certificates,
    { nodes }: CertificateJob,
    { leaf, pem }: Chain,
    before: X509Certificate,
    origin: Origin,
  ): Promise<CertificateOutcome> {
    const { pending } = this.#services;
    const fingerprint = leaf.fingerprint256;
    if (fingerprint === before.fingerprint256) {
      await pending.take(nodes, fingerprint, origin);
      return { did: 'kept', certificate: leaf };
    }
    await pending.keep(nodes, fingerprint, origin);
    // From here on what becomes of the caller does not matter.
    const signal = AbortSignal.timeout(certificates.timeout + settleTimeout);
    const settled = await settleCertificate(certificates, leaf, before, pem, signal);
    if (settled.is === 'shown') await pending.take(nodes, fingerprint, origin);
    else if (settled.is === 'refused') await pending.drop(nodes, origin);
    if ('fault' in settled) throw settled.fault;
    return { did: settled.is === 'shown' ? 'replaced' : 'waiting', certificate: leaf };
  }
}

/** How a BMC is named by definitions: its address, and its name, where the attribute bmc is one. */
export function namesOfBmc(snapshot: Snapshot, node: string, { access }: DeviceTarget): readonly string[] {
  const { address } = access as { readonly address: string };
  const [named = ''] = (nodeAttribute(effectiveReader(snapshot), node, 'bmc') ?? '').split(',', 1);
  const ip = parseIp(address);
  if (parseIp(named)) return [address];
  const domain = ip && domainOf(snapshot, ip);
  const names = [named, ...(named.includes('.') || domain === undefined ? [] : [`${named}.${domain}`]), address];
  return [...new Set(names.filter((name) => name !== '').map((name) => name.toLowerCase()))];
}

async function deviceOf(
  targets: (node: string) => DeviceTarget | Promise<DeviceTarget>,
  node: string,
): Promise<string | undefined> {
  try {
    return (await targets(node)).device;
  } catch (error) {
    // One that cannot be reached with what is stored of it is reached by no certificate.
    if (!(error instanceof Fault)) throw error;
    return undefined;
  }
}
