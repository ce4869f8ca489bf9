/** What the lab and the process that simulates its Redfish services say to each other. */

/**
 * plain: all optional members. sparse: few of them, no ETags, the event log with the manager. openbmc: OpenBMC's names and ways.
 * enclosure: no system of its own, a chassis with sleds in it.
 */
export type RedfishKind = 'plain' | 'sparse' | 'openbmc' | 'enclosure';

/** What is wrong with one service from now on. Members that are absent stay as they are. */
export interface RedfishFaults {
  /** Milliseconds every answer is held back. */
  readonly delay?: number;
  /** `refused`: nothing listens. `silent`: connections are taken and never answered. False: alive again. */
  readonly dead?: 'refused' | 'silent' | false;
  /** Bodies are not JSON. */
  readonly garbage?: boolean;
  /** So many of the next requests are answered with 503. */
  readonly unavailable?: number;
  /** The service has another certificate from now on. */
  readonly newCertificate?: true;
  /** All sessions are gone, as after a restart of the service. */
  readonly forget?: true;
  /** Sessions are opened without a token to use them by. */
  readonly tokenless?: boolean;
  /** So many of the next changes are refused because the resource has changed since. */
  readonly outdated?: number;
  /** From now on a service that is told another address answers nowhere. */
  readonly lost?: boolean;
  /** Settings of the network, but for the address, are accepted and dropped. */
  readonly forgetful?: boolean;
  /** `quiesced`: the host has stopped in an error. `chassis`: only the chassis has power. */
  readonly host?: 'quiesced' | 'chassis' | false;
  /** The BMC says that it is still starting. */
  readonly starting?: boolean;
}

/** What a service believes and has seen. */
export interface RedfishState {
  readonly power: string;
  readonly boot: { readonly enabled: string; readonly target: string; readonly mode: string };
  /** References of what it tries to boot from; only plain ones show them. */
  readonly bootOrder: readonly string[];
  /** The boot target of every start so far. */
  readonly starts: readonly string[];
  /** Every accepted reset type, in order. */
  readonly resets: readonly string[];
  readonly indicator: string;
  readonly limit: { readonly watts: number; readonly active: boolean };
  readonly logEntries: number;
  readonly openSessions: number;
  readonly sessionsOpened: number;
  readonly connections: number;
  /** Method and path of the requests so far, the last thousand. */
  readonly requests: readonly string[];
  /** Those that named nothing that exists: a client that follows links makes none. */
  readonly missed: readonly string[];
  readonly refusedLogins: number;
  readonly address: string;
  /** Changes by PATCH so far: path and body. */
  readonly changes: readonly { readonly path: string; readonly body: unknown }[];
}

export interface ServiceOptions {
  readonly addresses: readonly string[];
  readonly kinds: readonly RedfishKind[];
  readonly port: number;
  readonly delay: number;
  readonly powerDelay: number;
  readonly sessionLimit: number;
}

export type Question =
  | { readonly id: number; readonly ask: 'start'; readonly options: ServiceOptions }
  | { readonly id: number; readonly ask: 'state'; readonly index: number }
  | { readonly id: number; readonly ask: 'openSessions' }
  | { readonly id: number; readonly ask: 'fingerprint'; readonly index: number }
  | { readonly id: number; readonly ask: 'fault'; readonly index: number; readonly faults: RedfishFaults }
  | {
      readonly id: number;
      readonly ask: 'log';
      readonly index: number;
      readonly message: string;
      readonly severity: string;
    };

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}
