/** What there are events of. */
export const eventKinds = ['change', 'status', 'power', 'boot', 'run', 'notice', 'hardware'] as const;
export type EventKind = (typeof eventKinds)[number];

/** How bad it is what a BMC reports. */
export const severities = ['ok', 'warning', 'critical'] as const;
export type Severity = (typeof severities)[number];

/** What a BMC reports of a node; the text is the hardware's own. */
export interface HardwareNews {
  readonly severity: Severity;
  readonly message: string;
  /** How it was heard: `stream` and `push` of Redfish, `trap` of SNMP, `log`: it was found in the event log. */
  readonly source: 'stream' | 'push' | 'trap' | 'log';
}

/** Whose a run is: its user's, as long as that account is there. */
export interface RunOwner {
  readonly user: string;
  readonly isOwned: boolean;
  /** The limited token that began it. */
  readonly by?: string | undefined;
}

/** A run as it is at one moment. */
export interface RunNews {
  readonly run: string;
  readonly state: 'begun' | 'running' | 'finished' | 'cancelled' | 'interrupted';
  readonly command: string;
  readonly user: string;
  /** How many it works on, and what came of them. */
  readonly nodes: number;
  readonly ok: number;
  readonly failed: number;
  /** Of long work. */
  readonly progress?: { readonly done: number; readonly of: number; readonly line: string };
  /** Once it has ended. */
  readonly errorcode?: number;
  readonly error?: readonly string[];
}
