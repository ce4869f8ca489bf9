/** IPMI 2.0 table 13-15: what a BMC says when it refuses a session. */
export const statuses = {
  noResources: 0x01,
  invalidSession: 0x02,
  inactiveSession: 0x08,
  invalidRole: 0x09,
  unauthorizedRole: 0x0a,
  noResourcesForRole: 0x0b,
  unauthorizedName: 0x0d,
  invalidCheckValue: 0x0f,
  noSuiteMatch: 0x11,
} as const;

/**
 * Invalid or unmatched algorithms (04h to 07h, 10h, 11h); BMCs that do not know an algorithm's number have also been seen to
 * answer 0Eh and 12h. Only an open request is answered with them.
 */
const suiteRefusals: ReadonlySet<number> = new Set([0x04, 0x05, 0x06, 0x07, 0x0e, 0x10, 0x11, 0x12]);

export function refusesSuite(status: number): boolean {
  return suiteRefusals.has(status);
}

/** The session the BMC made for the open request is gone: another one may work. */
export function forgotSession(status: number): boolean {
  return status === statuses.invalidSession || status === statuses.inactiveSession;
}

/** The account may not have the privilege asked for: a lower one may do. */
export function refusesLevel(status: number): boolean {
  return status === statuses.invalidRole || status === statuses.unauthorizedRole;
}

export function isCrowded(status: number): boolean {
  return status === statuses.noResources || status === statuses.noResourcesForRole;
}
