import { Fault } from '../../core/errors.ts';
import { byteAt } from '../../protocols/ipmi/commands/bytes.ts';
import { getControllerId } from '../../protocols/ipmi/commands/dcmi.ts';
import {
  decodeArpInterval,
  decodeCommunity,
  decodeDestination,
  decodeIpv4,
  decodeMac,
  decodeVlan,
} from '../../protocols/ipmi/commands/lan-values.ts';
import { getLanParameter, lanChannel, lanName, type LanParameter } from '../../protocols/ipmi/commands/lan.ts';
import { getAlerting } from '../../protocols/ipmi/commands/pef.ts';
import type { Labelled } from '../capabilities.ts';
import type { Bmc } from './bmc.ts';

type Reader = (bmc: Bmc, signal: AbortSignal) => Promise<Labelled>;

interface LanAttribute {
  readonly label: string;
  readonly parameter: LanParameter;
  readonly show: (value: Buffer) => string;
}

export const lanAttributes: ReadonlyMap<string, LanAttribute> = new Map<string, LanAttribute>([
  ['ip', { label: 'BMC IP', parameter: 'address', show: decodeIpv4 }],
  ['netmask', { label: 'BMC Netmask', parameter: 'netmask', show: decodeIpv4 }],
  ['gateway', { label: 'BMC Gateway', parameter: 'gateway', show: decodeIpv4 }],
  ['backupgateway', { label: 'BMC Backup Gateway', parameter: 'backupGateway', show: decodeIpv4 }],
  [
    'garp',
    { label: 'Gratuitous ARP seconds', parameter: 'arpInterval', show: (value) => String(decodeArpInterval(value)) },
  ],
  ['mac', { label: 'BMC MAC', parameter: 'mac', show: decodeMac }],
  ['vlan', { label: 'BMC VLAN ID', parameter: 'vlan', show: (value) => String(decodeVlan(value) ?? 'off') }],
  ['community', { label: 'SP SNMP Community', parameter: 'community', show: decodeCommunity }],
]);

async function parameter(bmc: Bmc, name: LanParameter, signal: AbortSignal, selector = 0): Promise<Buffer | undefined> {
  const channel = await lanChannel(bmc.link, signal);
  return await getLanParameter(bmc.link, channel, name, signal, selector);
}

async function lan(bmc: Bmc, attribute: string, lanAttribute: LanAttribute, signal: AbortSignal): Promise<Labelled> {
  const { label, parameter: name, show } = lanAttribute;
  const value = await parameter(bmc, name, signal);
  if (value === undefined) {
    throw new Fault('invalid', `its service processor does not have the setting ${attribute} (${lanName(name)}).`, {
      reference: ['Unknown ipmi error 80h'],
    });
  }
  const shown = show(value);
  return attribute === 'vlan' && shown === 'off' ? { Message: ['BMC VLAN disabled'] } : { [label]: shown };
}

async function destination(bmc: Bmc, number: number, signal: AbortSignal): Promise<Labelled> {
  const value = await parameter(bmc, 'destination', signal, number);
  if (value === undefined) throw new Fault('invalid', `its service processor has no SNMP destination ${number}.`);
  return { [`SP SNMP Destination ${number}`]: decodeDestination(value) };
}

/** One that is not set is 0.0.0.0, as the reference system prints it. There is always a first to ask for. */
async function destinations(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  const count = byteAt((await parameter(bmc, 'destinationCount', signal)) ?? Buffer.of(1), 0) & 0x0f;
  const labels = [await destination(bmc, 1, signal)];
  for (let number = 2; number <= count; number += 1) labels.push(await destination(bmc, number, signal));
  return Object.assign({}, ...labels) as Labelled;
}

const otherReaders: Readonly<Record<string, Reader>> = {
  snmpdest: destinations,
  alert: async (bmc, signal) => ({ 'SP Alerting': (await getAlerting(bmc.link, signal)) ? 'enabled' : 'disabled' }),
  hostname: async (bmc, signal) => ({ 'BMC Hostname': await getControllerId(bmc.link, signal) }),
};

export const numberedDestination = /^snmpdest([1-9]|1[0-5])$/;

export async function getSetting(bmc: Bmc, attribute: string, signal: AbortSignal): Promise<Labelled> {
  const number = numberedDestination.exec(attribute)?.[1];
  if (number !== undefined) return await destination(bmc, Number(number), signal);
  const lanAttribute = lanAttributes.get(attribute);
  if (lanAttribute !== undefined) return await lan(bmc, attribute, lanAttribute, signal);
  const read = Object.hasOwn(otherReaders, attribute) ? otherReaders[attribute] : undefined;
  if (read === undefined) {
    const list = [...lanAttributes.keys(), ...Object.keys(otherReaders)].join(', ');
    throw new Fault(
      'invalid',
      `"${attribute}" cannot be read from an IPMI service processor; known: ${list}, snmpdest<n>.`,
    );
  }
  return await read(bmc, signal);
}
