import type { BiosMakerName } from './bios-makers.ts';
import type { Drive, ForeignMedium, MediaFaults, MediaState } from './resources/media.ts';
import type { TakenImage, UpdateFaults } from './update.ts';

/** What the lab and the process that simulates its Redfish services say to each other. */

/**
 * plain: all optional members. sparse: few of them, no ETags, the event log with the manager. openbmc: OpenBMC's names and ways.
 * twin: plain, with a second system in its chassis, which can be switched. enclosure: no system of its own, a chassis with sleds in it. pdu: a rack PDU with eight outlets.
 */
export type RedfishKind = 'plain' | 'twin' | 'sparse' | 'openbmc' | 'enclosure' | 'pdu';

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
  /** Telnet and HTTP are enabled, the clock is wrong, the log is full, and an account has no name. */
  readonly weak?: boolean;
  /** So many of the next changes are refused because the resource has changed since. */
  readonly outdated?: number;
  /** From now on a service that is told another address answers nowhere. */
  readonly lost?: boolean;
  /** Settings of the BIOS that are refused, whatever its registry says. */
  readonly stubborn?: readonly string[];
  /** Settings of the network, but for the address, and of the BIOS are accepted and dropped. */
  readonly forgetful?: boolean;
  /** New passwords are refused. */
  readonly refusesPasswords?: boolean;
  /** So many characters of the next new password are kept; 0: all. */
  readonly passwordKept?: number;
  /** What happens to requests of this method whose path ends so; false: nothing any more. */
  readonly at?: StoppedAt | false;
  /** `quiesced`: the host has stopped in an error. `chassis`: only the chassis has power. */
  readonly host?: 'quiesced' | 'chassis' | false;
  /** What its resources say of consoles. */
  readonly console?: ConsoleWords;
  /** The BMC says that it is still starting. */
  readonly starting?: boolean;
  readonly certificates?: CertificateFaults;
  readonly update?: UpdateFaults;
  /** These instead of those of before. */
  readonly media?: MediaFaults;
  /** Somebody else inserts or ejects. */
  readonly medium?: ForeignMedium;
  /** What its EventService can, which is not there before; streams that are open are closed. */
  readonly events?: EventWays | false;
}

/** What is wrong with how a service gets certificates. */
export interface CertificateFaults {
  readonly requests?: 'right' | 'foreign' | 'weak' | 'giant' | 'garbage' | 'forged';
  /** `never`: one is accepted and dropped. */
  readonly installs?: 'at once' | 'never' | 'after a restart';
  readonly refuses?: boolean;
}

/** Members that resources get besides theirs. */
export interface ConsoleWords {
  readonly vendor?: string;
  readonly system?: Readonly<Record<string, unknown>>;
  readonly manager?: Readonly<Record<string, unknown>>;
  readonly protocol?: Readonly<Record<string, unknown>>;
}

/** How a service reports events: by server-sent events, and to so many subscriptions. */
export interface EventWays {
  readonly stream: boolean;
  readonly subscriptions: number;
}

/** A request at which something happens, before or after it was carried out. */
export interface StoppedAt {
  readonly method: string;
  /** A part of the path. */
  readonly path: string;
  readonly when: 'before' | 'after';
  /** `hold`: the answer waits until this is taken back. `die`: the connection ends, and nothing listens any more. */
  readonly does: 'hold' | 'die';
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
  /** Requests that wait because a fault says so. */
  readonly held: number;
  readonly accounts: readonly {
    readonly username: string;
    readonly password: string;
    readonly role: string;
    readonly enabled: boolean;
  }[];
  readonly address: string;
  /** Images that were taken so far. */
  readonly images: readonly TakenImage[];
  readonly versions: Readonly<Record<string, string>>;
  readonly media: { readonly drives: readonly Drive[]; readonly fetched: MediaState['fetched'] };
  readonly isReserved: boolean;
  readonly tasks: number;
  /** Destinations of subscriptions, and how many read the stream. */
  readonly subscriptions: readonly string[];
  readonly streams: number;
  /** Changes by PATCH so far: path and body. */
  readonly changes: readonly { readonly path: string; readonly body: unknown }[];
  readonly bios: { readonly current: object; readonly waiting: object };
}

export interface ServiceOptions {
  readonly addresses: readonly string[];
  readonly kinds: readonly RedfishKind[];
  readonly makers: readonly BiosMakerName[];
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
    }
  /** Something happens: whoever is to hear of it does. With `raw` these bytes go to the streams. */
  | {
      readonly id: number;
      readonly ask: 'report';
      readonly index: number;
      readonly event: object;
      readonly raw?: string;
    }
  | { readonly id: number; readonly ask: 'subscribe'; readonly index: number; readonly destination: string };

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}
