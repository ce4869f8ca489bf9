/** What a target of a job brings along for a process without a database. */
export interface Brought {
  /** The target as this worker goes to it. */
  readonly target: unknown;
  /** The fingerprint that the certificate of its BMC must have, and the key of its sshd, as far as they are known. */
  readonly certificate: string | undefined;
  /** The one that muster has given to its BMC, which may show it from now on. */
  readonly nextCertificate: string | undefined;
  /** The key of the SSH server of its BMC. */
  readonly processorKey: string | undefined;
  readonly hostKey: string | undefined;
}

/** The shapes that targets of commands have; each command has some of it. */
interface AnyTarget {
  readonly access?: { readonly certificate?: string; readonly nextCertificate?: string; readonly hostKey?: string };
  readonly hostKey?: string;
  readonly jump?: unknown;
  /** Within others: the way to the node, and its hardware. */
  readonly to?: AnyTarget;
  readonly power?: AnyTarget;
}

/** A node is reached from its worker directly: the service node that others go through is this machine. */
export function broughtBy(target: unknown): Brought {
  const { access, hostKey, to, power, jump: _, ...rest } = target as AnyTarget;
  const own = { ...rest, ...(access && { access }), ...(hostKey !== undefined && { hostKey }) };
  const inner = to === undefined ? undefined : broughtBy(to);
  return {
    target: { ...own, ...(inner && { to: inner.target }), ...(power && { power }) },
    certificate: (access ?? power?.access)?.certificate,
    nextCertificate: (access ?? power?.access)?.nextCertificate,
    processorKey: (access ?? power?.access)?.hostKey,
    hostKey: inner ? inner.hostKey : hostKey,
  };
}
