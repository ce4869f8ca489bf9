import type { RedfishKind } from './protocol.ts';
import { type Json, link } from './resource.ts';

/** What web servers of a kind can do with their certificates. */
export interface CertificateWays {
  readonly makesRequests: boolean;
  /** ReplaceCertificate; else certificates are posted to the collection. */
  readonly replaces: boolean;
  /** NetworkProtocol links to the collection; else only the list of the service names what is in it. */
  readonly isLinked: boolean;
}

export const certificateWays: Readonly<Partial<Record<RedfishKind, CertificateWays>>> = {
  plain: { makesRequests: true, replaces: true, isLinked: true },
  openbmc: { makesRequests: true, replaces: true, isLinked: true },
  sparse: { makesRequests: false, replaces: true, isLinked: false },
  enclosure: { makesRequests: false, replaces: false, isLinked: true },
};

interface OfKind {
  readonly kind: RedfishKind;
}

export const hasCertificateService = ({ kind }: OfKind): boolean =>
  certificateWays[kind]?.makesRequests === true || kind === 'sparse';

/** `protocol`: the path of the settings of the network. */
export const linkedCertificates = ({ kind }: OfKind, protocol: string): Json =>
  certificateWays[kind]?.isLinked ? { Certificates: link(`${protocol}/HTTPS/Certificates`) } : {};
