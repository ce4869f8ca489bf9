import type { AddressGuard } from '../../core/address-guard.ts';
import { Fault } from '../../core/errors.ts';
import { within } from '../../core/waiting.ts';
import { unanswered } from '../../protocols/ipmi/commands/ask.ts';
import { getGuid } from '../../protocols/ipmi/commands/device.ts';
import { decodeMac, getLanParameter, lanChannel } from '../../protocols/ipmi/commands/lan.ts';
import type { SdrRecord } from '../../protocols/ipmi/commands/sdr-record.ts';
import type { SerialConsole, SerialOptions } from '../../protocols/ipmi/client.ts';
import type { IpmiLink } from '../../protocols/ipmi/link.ts';
import type { BmcAccess } from '../bmc/target.ts';

/** How long things may take, in milliseconds. */
export interface IpmiTimes {
  /** Until a power command has reached its state. */
  readonly powerTimeout: number;
  /** Until a BMC whose address was changed answers at the new one. */
  readonly addressTimeout: number;
  /** Before `on` after a power cycle counts when the moment off was not seen. */
  readonly cycleSettling: number;
}

/** One BMC, as the capabilities of this driver see it. */
export interface Bmc {
  readonly access: BmcAccess;
  readonly guard: AddressGuard;
  readonly link: IpmiLink;
  readonly times: IpmiTimes;
  openSerial(options: SerialOptions, signal: AbortSignal): Promise<SerialConsole>;
  /** The sensor data records, remembered until the BMC says that they changed. */
  records(signal: AbortSignal): Promise<readonly SdrRecord[]>;
  /** Who answers at another address and lets us in with the same account; a Fault if nobody does. */
  identityAt(address: string, signal: AbortSignal): Promise<Identity>;
}

/** Many small answers, of which each may take its time: an event log of 65,535 entries, for instance. */
const longestReading = 600_000;

/** Reads what takes as many requests as the BMC likes. */
export function boundedReading<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const seconds = longestReading / 1_000;
  const late = (): Fault =>
    new Fault('deadline', `its BMC answered, but had not answered all questions after ${seconds} s.`);
  return within(longestReading, late, signal, work);
}

/** What distinguishes a BMC from all others, whatever its address. What it does not report is undefined. */
export interface Identity {
  readonly guid: string | undefined;
  readonly mac: string | undefined;
}

/** Hardware without a GUID or MAC address of its own shows zeros or ones. */
const isMeaningful = (text: string): boolean => !/^[0:-]*$|^[f:-]*$/i.test(text);

async function meaningful(read: () => Promise<string | undefined>, signal: AbortSignal): Promise<string | undefined> {
  try {
    const text = await read();
    return text !== undefined && isMeaningful(text) ? text : undefined;
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted || unanswered(error, signal)) throw error;
    return undefined;
  }
}

async function readMac(link: IpmiLink, signal: AbortSignal): Promise<string | undefined> {
  const mac = await getLanParameter(link, await lanChannel(link, signal), 'mac', signal);
  return mac && decodeMac(mac);
}

export async function readIdentity(link: IpmiLink, signal: AbortSignal): Promise<Identity> {
  return {
    guid: await meaningful(() => getGuid(link, signal), signal),
    mac: await meaningful(() => readMac(link, signal), signal),
  };
}

const members = [
  ['GUID', 'guid'],
  ['MAC address', 'mac'],
] as const;

/** What shows that one found is not the one wanted, in words; undefined if it is, or reported nothing to know it by. */
export function difference(wanted: Identity, found: Identity): string | undefined {
  const known = members.filter(([, member]) => wanted[member] !== undefined);
  const shown = known.filter(([, member]) => found[member] !== undefined);
  for (const [name, member] of shown) {
    if (wanted[member] !== found[member]) return `${name} ${found[member]} instead of ${wanted[member]}`;
  }
  const [missing] = known;
  return missing !== undefined && shown.length === 0 ? `without its ${missing[0]} ${wanted[missing[1]]}` : undefined;
}
