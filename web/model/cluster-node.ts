/** A node as the pages show it. */
export interface ClusterNode {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** As a BMC said last; undefined: nobody has asked yet. */
  readonly power?: string;
  /** Why its power is not known, or what its hardware reports. */
  readonly trouble?: string;
  readonly severity?: 'warning' | 'critical';
  /** The hottest that muster has read lately. */
  readonly temperature?: { readonly sensor: string; readonly value: number; readonly isBeyond: boolean };
  /** How far its boot is. */
  readonly bootStep?: string;
}
