import { Fault } from '../../core/errors.ts';
import { unanswered } from '../../protocols/ipmi/commands/ask.ts';
import { getGuid } from '../../protocols/ipmi/commands/device.ts';
import { getLanParameter, lanChannel } from '../../protocols/ipmi/commands/lan.ts';
import { decodeMac } from '../../protocols/ipmi/commands/lan-values.ts';
import type { IpmiLink } from '../../protocols/ipmi/link.ts';

/** What tells a service processor from all others, whatever its address. What it does not tell is undefined. */
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

/** What shows that one found is not the one wanted, in words; undefined if it is, or told nothing to know it by. */
export function difference(wanted: Identity, found: Identity): string | undefined {
  const known = members.filter(([, member]) => wanted[member] !== undefined);
  const shown = known.filter(([, member]) => found[member] !== undefined);
  for (const [name, member] of shown) {
    if (wanted[member] !== found[member]) return `${name} ${found[member]} instead of ${wanted[member]}`;
  }
  const [missing] = known;
  return missing !== undefined && shown.length === 0 ? `without its ${missing[0]} ${wanted[missing[1]]}` : undefined;
}
