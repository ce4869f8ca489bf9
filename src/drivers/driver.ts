import type { Duplex } from 'node:stream';
import type { TObject, TProperties } from 'typebox';
import type { AddressGuard } from '../core/address-guard.ts';
import type { FaultData } from '../core/errors.ts';
import type { HypervisorListener } from '../core/hypervisor-listener.ts';
import type { ValuesOf } from '../core/settings.ts';
import type { Trust } from '../protocols/redfish/client.ts';
import type { HostKeys } from '../protocols/ssh/host-keys.ts';
import type { Target as SshTarget } from '../protocols/ssh/target.ts';
import type { Capabilities } from './capabilities.ts';

/** A node as a driver sees it, as the definitions of one moment have it. */
export interface DriverNode {
  readonly name: string;
  /** Those that the driver names, as far as they are set. Secrets are open here, and go nowhere but into the target. */
  readonly attributes: Readonly<Record<string, string | undefined>>;
  /** The account under a key of table passwd: of several the one with that user name, else the first. */
  account(key: string, username?: string): { readonly username?: string; readonly password?: string } | undefined;
}

/** What work on a node needs, as plain JSON data: with open secrets, so it goes to whoever does the work and into no log. */
export interface DriverTarget<Access = unknown> {
  /** What commands are queued by: the same for nodes behind one device. */
  readonly device: string;
  /** Where the device is, as people are shown it: an address, with its port if it is not the usual one, or a host. */
  readonly address: string;
  /** The name of the account there, where there is one. */
  readonly account?: string;
  /** Commands that may work on the device at once. A console that is held open is none. */
  readonly width: number;
  /** Readings that wait for the device count as one command: its driver asks once for all of them. */
  readonly joinsReadings?: boolean;
  /** Only the server itself works on it: what it does there depends on what other commands of the server are doing. */
  readonly staysHere?: boolean;
  readonly access: Access;
}

/** A kind of hardware; `name` is the value of `mgt` that picks it. */
export interface Driver<Access = unknown> {
  readonly name: string;
  /** What it can do with any of its nodes. */
  readonly offers: readonly (keyof Capabilities)[];
  /** The node attributes that its target is made from, and `table.column` of what no attribute shows. */
  readonly attributes: readonly string[];
  /**
   * Touches nothing outside; a Fault says all that is wrong with the attributes. What depends on more than the definitions, such
   * as the address of a name, is a promise and asked for each time. With `subnodes` the node is meant as what has others behind it.
   */
  target(node: DriverNode, needs: keyof Capabilities): DriverTarget<Access> | Promise<DriverTarget<Access>>;
  connect(access: Access): Capabilities;
  /** Where its nodes run, if they are virtual machines; muster watches those that the definitions name. */
  readonly hypervisors?: {
    /** Keeps a connection to it from now on and reports what happens there, until what is returned is called. */
    follow(host: string, listener: HypervisorListener): () => void;
  };
  /** How many there are, or connections that are kept. */
  sessions?(): number;
  /** Ends all sessions. */
  close(): Promise<void>;
}

/** What drivers are made with besides their settings; each takes what it needs. */
export interface DriverOptions {
  /** Certificates of BMCs, by node. */
  readonly trust: Trust;
  /** SSH host keys of BMCs, by node; by default those that are shown first, until the process ends. */
  readonly hostKeys?: HostKeys;
  /** Where BMCs are; without it anywhere. */
  readonly guard?: AddressGuard;
  /** How long a power command may take to reach its state, in milliseconds. */
  readonly powerTimeout: number;
  /** How long an update of firmware may take until the BMC is back, and until it shows another version then, in milliseconds. */
  readonly updateTimeout?: number;
  readonly settleTime?: number;
  /** How long a BMC may take to show a new certificate, in milliseconds. */
  readonly certificateTimeout?: number;
  /** Machines that a driver goes through, such as hypervisors; without it there is only this machine. */
  readonly hosts?: RemoteHosts;
}

/** A host as SSH reaches it, or why it cannot. Null: it is this machine. Plain data. */
export type HostRoute = SshTarget | FaultData | null;

export interface RemoteHosts {
  /** Found where the database is. */
  find(host: string, user: string): Promise<HostRoute>;
  /** A UNIX socket on a host that is not this machine. */
  socket(route: SshTarget | FaultData, path: string, signal: AbortSignal): Promise<Duplex>;
}

/** A driver as the registry lists it: what has to be known of it before it is made. */
export interface DriverKind<Settings extends TProperties> {
  /** Its own settings; they stand in section `hardware` with those of the others. */
  readonly settings: Settings;
  open(settings: Partial<ValuesOf<TObject<Settings>>>, options: DriverOptions): Driver;
}

export const driverKind = <Settings extends TProperties>(kind: DriverKind<Settings>): DriverKind<Settings> => kind;
