import type { X509Certificate } from 'node:crypto';

/** What a request for a certificate says of who wants it, as BMCs demand it. */
export interface CertificateSubject {
  readonly organization: string;
  readonly unit: string;
  readonly city: string;
  readonly state: string;
  /** Two letters. */
  readonly country: string;
}

/** The certificate by which a BMC shows who it is, and those that it has besides. */
export interface Certificates {
  /** The address by which muster reaches it. */
  readonly host: string;
  /** What it shows now, by a connection of its own to which nothing is sent. */
  served(signal: AbortSignal): Promise<X509Certificate>;
  /** What it says that it has; unreadable ones are left out. */
  stored(signal: AbortSignal): Promise<readonly X509Certificate[]>;
  /**
   * Has it make a key, and resolves with the request for a certificate of it, as it sent it: nothing of that is checked. Undefined: it makes
   * none. The key that it uses stays until a certificate is installed.
   */
  request(names: readonly string[], subject: CertificateSubject, signal: AbortSignal): Promise<string | undefined>;
  /** Hands over a certificate as PEM, with those that lead to its authority, and with its key if muster has made that. */
  install(pem: string, signal: AbortSignal): Promise<void>;
  /** Milliseconds that it may take until it shows a new certificate. */
  readonly timeout: number;
}
