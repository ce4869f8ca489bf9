import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { labAccounts, labAddresses } from './addresses.ts';
import { refuseBound } from './bound.ts';
import { openChannel } from './channel.ts';
import { type BiosMakerName, biosMakerNames } from './redfish/bios-makers.ts';
import type { Namespace } from './netns.ts';
import type { RedfishFaults, RedfishKind, RedfishState, ServiceOptions } from './redfish/protocol.ts';

export { labImage } from './redfish/update.ts';
export type { RedfishFaults, RedfishKind, RedfishState } from './redfish/protocol.ts';

export interface RedfishLabOptions {
  readonly count: number;
  /** The /16 below which the services are, such as `127.11`. */
  readonly prefix: string;
  /** Instead of count and prefix: these addresses. */
  readonly addresses?: readonly string[];
  /** Default: 443. */
  readonly port?: number;
  /** Milliseconds every answer is held back. */
  readonly delay?: number;
  /** The kind of service i is that at i modulo the length. Default: three plain ones, a sparse one and an OpenBMC. */
  readonly kinds?: readonly RedfishKind[];
  /** Likewise, whose BIOS it has. Default: one of each maker. OpenBMC and enclosures have none. */
  readonly makers?: readonly BiosMakerName[];
  /** Milliseconds between the order and the change of the power state. */
  readonly powerDelay?: number;
  readonly sessionLimit?: number;
  /** Where the addresses are. */
  readonly namespace?: Namespace;
}

/**
 * Simulated Redfish services over HTTPS in a process of their own. Even ones have Power and Thermal, odd ones PowerSubsystem,
 * ThermalSubsystem and Sensors. Accounts: `labAccounts`.
 */
export interface RedfishLab {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly kinds: readonly RedfishKind[];
  /** What a service believes and has seen. */
  state(index: number): Promise<RedfishState>;
  /** The open sessions of all services. */
  openSessions(): Promise<number>;
  /** The SHA-256 fingerprint of a service's certificate, as `AB:CD:...`. */
  fingerprint(index: number): Promise<string>;
  fault(index: number, faults: RedfishFaults): Promise<void>;
  /** Somebody else subscribes. */
  subscribe(index: number, destination: string): Promise<void>;
  /** Reports an event to whoever follows: as Redfish says, or with `raw` these bytes to streams. */
  report(index: number, event: object, raw?: string): Promise<void>;
  /** Adds an entry to a service's event log. */
  log(index: number, message: string, severity?: 'OK' | 'Warning' | 'Critical'): Promise<void>;
  stop(): Promise<void>;
}

/** How a driver reaches service i, as the administrator. */
export const accessTo = (lab: RedfishLab, index: number) => ({
  node: `n${index}`,
  address: lab.addresses[index]!,
  port: lab.port,
  ...labAccounts.administrator,
});

const program = join(import.meta.dirname, 'redfish/main.ts');
const usualKinds: readonly RedfishKind[] = ['plain', 'plain', 'plain', 'sparse', 'openbmc'];

export async function startRedfish(options: RedfishLabOptions): Promise<RedfishLab> {
  const { count, prefix, port = 443, delay = 0, kinds = usualKinds, powerDelay = 150, sessionLimit = 16 } = options;
  const { makers = biosMakerNames, addresses = labAddresses(prefix, count), namespace } = options;
  if (!namespace) refuseBound('tcp', addresses, port);
  const directory = await mkdtemp(join(tmpdir(), 'muster-redfish-'));
  const channel = openChannel(program, directory, 'redfish', namespace);
  const stop = async (): Promise<void> => {
    await channel.child.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const service: ServiceOptions = { addresses, kinds, makers, port, delay, powerDelay, sessionLimit };
    await channel.ask({ ask: 'start', options: service });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    addresses,
    port,
    kinds: addresses.map((_, index) => kinds[index % kinds.length]!),
    state: (index) => channel.ask({ ask: 'state', index }) as Promise<RedfishState>,
    openSessions: () => channel.ask({ ask: 'openSessions' }) as Promise<number>,
    fingerprint: (index) => channel.ask({ ask: 'fingerprint', index }) as Promise<string>,
    fault: (index, faults) => channel.ask({ ask: 'fault', index, faults }) as Promise<void>,
    subscribe: (index, destination) => channel.ask({ ask: 'subscribe', index, destination }) as Promise<void>,
    report: (index, event, raw) =>
      channel.ask({ ask: 'report', index, event, ...(raw === undefined ? {} : { raw }) }) as Promise<void>,
    log: (index, message, severity = 'OK') => channel.ask({ ask: 'log', index, message, severity }) as Promise<void>,
    stop,
  };
}
