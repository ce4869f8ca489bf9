/** Certificates of service processors: the fingerprint a node showed first is the one it must show from then on. */
export interface TrustStore {
  known(node: string): string | undefined;
  learn(node: string, fingerprint: string): Promise<void>;
  howToForget?(node: string): string;
  /** A certificate authority that vouches instead, as PEM. */
  readonly ca?: string | undefined;
}

/** What drivers are made with. */
export interface DriverOptions {
  readonly trust: TrustStore;
  /** IPMI cipher suites that may be used, in the order in which they are tried. */
  readonly ipmiSuites?: readonly (17 | 3)[];
  /** How long a power command may take to reach its state, in milliseconds. */
  readonly powerDeadline: number;
}
