import { Fault } from '../../core/errors.ts';
import { pause } from '../../protocols/redfish/abort.ts';
import {
  type RedfishClient,
  type RedfishService,
  Refusal,
  type Resource,
  type Trust,
} from '../../protocols/redfish/client.ts';
import { at, linkAt, listAt, localPath, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { chassisOf, machineChassisOf, type MachineChassis } from '../../protocols/redfish/chassis.ts';
import { findSystem, managerOf, systemOf } from '../../protocols/redfish/node-resources.ts';
import type { IpmiEndpoint, SerialConsole, SerialOptions } from '../../protocols/ipmi/client.ts';
import type { HostKeys } from '../../protocols/ssh/host-keys.ts';
import type { BmcAccess } from '../bmc/target.ts';
import type { BiosRegistries } from './bios-registries.ts';

/** What consoles of BMCs are opened by. */
export interface ConsoleWays {
  readonly hostKeys: HostKeys;
  openSerial(endpoint: IpmiEndpoint, options: SerialOptions, signal: AbortSignal): Promise<SerialConsole>;
}

export interface Target {
  readonly access: BmcAccess;
  readonly client: RedfishClient;
  readonly service: RedfishService;
  /** What connections of another client are to believe. */
  readonly trust: Trust;
  readonly consoles: ConsoleWays;
  /** How long a power command may take to reach its state, in milliseconds. */
  readonly powerTimeout: number;
  /** How long a BMC may take to come up at a new address, in milliseconds. */
  readonly addressTimeout: number;
  /** How long an update may take until the BMC is back, and until a new version shows after that, in milliseconds. */
  readonly updateTimeout: number;
  readonly settleTime: number;
  /** How long a BMC may take to show a new certificate, in milliseconds. */
  readonly certificateTimeout: number;
  /** The last power limits of services that forget them when they are turned off, by address and path. */
  readonly limits: Map<string, number>;
  /** What machines say of the settings of their BIOS. */
  readonly registries: BiosRegistries;
}

export function systemFor({ service, access }: Target, signal: AbortSignal): Promise<Resource> {
  return systemOf(service, access, signal);
}

export function chassisFor({ service, access }: Target, signal: AbortSignal): Promise<readonly Resource[]> {
  return chassisOf(service, access, signal);
}

/** All chassis of the machine; with `measured`, of those besides its own only the ones that link to readings. */
export function machineChassisFor(
  { service, access }: Target,
  signal: AbortSignal,
  which?: 'measured',
): Promise<MachineChassis> {
  return machineChassisOf(service, access, signal, which);
}

export function managerFor({ service, access }: Target, signal: AbortSignal): Promise<Resource | undefined> {
  return managerOf(service, access, signal);
}

/** Nothing if the service has no system at all, as those of enclosures. */
export function systemIfAny({ service, access }: Target, signal: AbortSignal): Promise<Resource | undefined> {
  return findSystem(service, access, signal);
}

/** Where a resource keeps settings that it takes on later, if it does (DSP0266 "Settings resource"). */
export const settingsOf = ({ body }: Resource): string | undefined =>
  linkAt(body, '@Redfish.Settings', 'SettingsObject');

/** Some services take changes only at the resource that holds the settings of another. Resolves with where it was changed. */
export async function patchOrSettings(
  target: Target,
  resource: Resource,
  change: unknown,
  signal: AbortSignal,
): Promise<string> {
  try {
    await target.service.patch(resource, change, signal);
    return resource.path;
  } catch (error) {
    if (!(error instanceof Refusal && error.ofRequest)) throw error;
    const pending = await target.service.find(settingsOf(resource), signal);
    if (!pending) throw error;
    await target.service.patch(pending, change, signal);
    return pending.path;
  }
}

const firstPause = 200;
const longestPause = 2_000;

/** Reads until what is read is as wanted, at growing intervals; after the time given, `late` says what is wrong. */
export async function until<T>(
  read: () => Promise<T>,
  reached: (value: T) => boolean,
  late: (value: T) => Fault,
  milliseconds: number,
  signal: AbortSignal,
): Promise<T> {
  const end = performance.now() + milliseconds;
  for (let wait = firstPause; ; wait = Math.min(wait * 1.4, longestPause)) {
    const value = await read();
    if (reached(value)) return value;
    const left = end - performance.now();
    if (left <= 0) throw late(value);
    await pause(Math.min(wait, left), signal);
  }
}

export interface Action {
  readonly target: string;
  /** The values its parameter takes; undefined if the service does not say. */
  readonly allowed: readonly string[] | undefined;
}

/** An action a resource offers, with the values of one parameter (DSP0266 "Actions", "Action info annotation"). */
export async function actionOf(
  service: RedfishService,
  resource: Resource,
  name: string,
  parameter: string,
  signal: AbortSignal,
): Promise<Action | undefined> {
  const offered = at(resource.body, 'Actions', `#${name}`);
  const target = localPath(at(offered, 'target'));
  if (target === undefined) return undefined;
  const listed = textsAt(offered, `${parameter}@Redfish.AllowableValues`);
  if (listed.length > 0) return { target, allowed: listed };
  const link = localPath(at(offered, '@Redfish.ActionInfo')) ?? linkAt(offered, '@Redfish.ActionInfo');
  const info = await service.find(link, signal);
  const described = listAt(info?.body, 'Parameters').find((item) => textAt(item, 'Name') === parameter);
  const values = textsAt(described, 'AllowableValues');
  return { target, allowed: values.length > 0 ? values : undefined };
}

/** The first of some words that a property takes, by the annotation beside it. */
export function allowedWord(parent: unknown, property: string, wanted: readonly string[]): string | undefined {
  const listed = textsAt(parent, `${property}@Redfish.AllowableValues`);
  return listed.length === 0 ? wanted[0] : wanted.find((word) => listed.includes(word));
}

const mostShown = 20;

export function notOffered(what: string, offered: readonly string[]): Fault {
  const more = offered.length > mostShown ? ' and others' : '';
  const known = offered.length > 0 ? `; it has ${offered.slice(0, mostShown).join(', ')}${more}` : '';
  return new Fault('invalid', `its BMC has no ${what}${known}.`);
}
