export type SuiteId = 17 | 3;

/** A cipher suite: the numbers that are negotiated and the lengths that follow from them. */
export interface Suite {
  readonly id: SuiteId;
  readonly hash: 'sha256' | 'sha1';
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
  /** Length of the codes in RAKP 2 and 3. */
  readonly macLength: number;
  /** Length of the code in RAKP 4 and at the end of every packet of the session. */
  readonly tagLength: number;
}

/** IPMI 2.0 table 22-20, of which only suites that authenticate, protect and encrypt are offered. */
export const suites: Readonly<Record<SuiteId, Suite>> = {
  17: { id: 17, hash: 'sha256', authentication: 3, integrity: 4, confidentiality: 1, macLength: 32, tagLength: 16 },
  3: { id: 3, hash: 'sha1', authentication: 1, integrity: 1, confidentiality: 1, macLength: 20, tagLength: 12 },
};

export const defaultSuites: readonly SuiteId[] = [17, 3];
