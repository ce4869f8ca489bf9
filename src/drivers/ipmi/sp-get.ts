import { Fault } from '../../core/errors.ts';
import { byteAt } from '../../protocols/ipmi/commands/bytes.ts';
import { getControllerId } from '../../protocols/ipmi/commands/dcmi-controller.ts';
import { getLanParameter, lanChannel, type LanParameter } from '../../protocols/ipmi/commands/lan.ts';
import {
  decodeArpInterval,
  decodeCommunity,
  decodeDestination,
  decodeIpv4,
  decodeMac,
  decodeVlan,
} from '../../protocols/ipmi/commands/lan-values.ts';
import { getAlerting } from '../../protocols/ipmi/commands/pef.ts';
import type { Labelled } from '../capabilities.ts';
import type { Bmc } from './bmc.ts';

type Reader = (bmc: Bmc, signal: AbortSignal) => Promise<Labelled>;

async function parameter(bmc: Bmc, name: LanParameter, signal: AbortSignal, selector = 0): Promise<Buffer> {
  const channel = await lanChannel(bmc.link, signal);
  const value = await getLanParameter(bmc.link, channel, name, signal, selector);
  if (value === undefined) throw new Fault('invalid', `its service processor has no LAN parameter ${name}.`);
  return value;
}

function lan(label: string, name: LanParameter, decode: (value: Buffer) => string): Reader {
  return async (bmc, signal) => ({ [label]: decode(await parameter(bmc, name, signal)) });
}

async function vlan(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  const id = decodeVlan(await parameter(bmc, 'vlan', signal));
  return id === undefined ? { Message: ['BMC VLAN disabled'] } : { 'BMC VLAN ID': String(id) };
}

async function destination(bmc: Bmc, number: number, signal: AbortSignal): Promise<Labelled> {
  const value = await parameter(bmc, 'destination', signal, number);
  return { [`SP SNMP Destination ${number}`]: decodeDestination(value) };
}

async function destinations(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  const count = byteAt(await parameter(bmc, 'destinationCount', signal), 0) & 0x0f;
  const labels: Labelled[] = [];
  for (let number = 1; number <= count; number += 1) labels.push(await destination(bmc, number, signal));
  return Object.assign({}, ...labels) as Labelled;
}

const readers: Readonly<Record<string, Reader>> = {
  ip: lan('BMC IP', 'address', decodeIpv4),
  netmask: lan('BMC Netmask', 'netmask', decodeIpv4),
  gateway: lan('BMC Gateway', 'gateway', decodeIpv4),
  backupgateway: lan('BMC Backup Gateway', 'backupGateway', decodeIpv4),
  garp: lan('Gratuitous ARP seconds', 'arpInterval', (value) => String(decodeArpInterval(value))),
  mac: lan('BMC MAC', 'mac', decodeMac),
  vlan,
  community: lan('SP SNMP Community', 'community', decodeCommunity),
  snmpdest: destinations,
  alert: async (bmc, signal) => ({ 'SP Alerting': (await getAlerting(bmc.link, signal)) ? 'enabled' : 'disabled' }),
  hostname: async (bmc, signal) => ({ 'BMC Hostname': await getControllerId(bmc.link, signal) }),
};

/** `snmpdest2` */
export const numberedDestination = /^snmpdest([1-9]|1[0-5])$/;

export async function getSetting(bmc: Bmc, attribute: string, signal: AbortSignal): Promise<Labelled> {
  const number = numberedDestination.exec(attribute)?.[1];
  if (number !== undefined) return await destination(bmc, Number(number), signal);
  const read = Object.hasOwn(readers, attribute) ? readers[attribute] : undefined;
  if (read === undefined) {
    const list = Object.keys(readers).join(', ');
    throw new Fault(
      'invalid',
      `"${attribute}" cannot be read from an IPMI service processor; known: ${list}, snmpdest<n>.`,
    );
  }
  return await read(bmc, signal);
}
