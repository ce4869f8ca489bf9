import type { IpmiLink } from '../link.ts';
import { ask } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';

/** IPMI 2.0 section 20: device global commands. */
const app = 0x06;
const commands = { getDeviceId: 0x01, coldReset: 0x02, getDeviceGuid: 0x08, getSystemGuid: 0x37 };

export interface DeviceId {
  readonly deviceId: number;
  /** `2.15` */
  readonly firmware: string;
  readonly manufacturerId: number;
  readonly productId: number;
}

export function decodeDeviceId(data: Buffer): DeviceId {
  atLeast(data, 11, 'Get Device ID');
  return {
    deviceId: byteAt(data, 0),
    firmware: `${byteAt(data, 2) & 0x7f}.${byteAt(data, 3).toString(16).padStart(2, '0')}`,
    manufacturerId: data.readUIntLE(6, 3) & 0xfffff,
    productId: data.readUInt16LE(9),
  };
}

export async function getDeviceId(link: IpmiLink, signal: AbortSignal): Promise<DeviceId> {
  return decodeDeviceId(await ask(link, { netfn: app, command: commands.getDeviceId }, 'Get Device ID', signal));
}

/** Restarts the BMC itself. It may be gone before it answers, and is never asked twice. */
export async function coldReset(link: IpmiLink, signal: AbortSignal): Promise<void> {
  const request = { netfn: app, command: commands.coldReset, privilege: 'administrator', repeatable: false } as const;
  await ask(link, request, 'Cold Reset', signal);
}

/** SMBIOS byte order: the first three fields have their low byte first on the wire. */
export function decodeGuid(data: Buffer): string {
  atLeast(data, 16, 'Get System GUID');
  const field = (from: number, to: number, reversed: boolean) => {
    const bytes = Buffer.from(data.subarray(from, to));
    return (reversed ? bytes.reverse() : bytes).toString('hex').toUpperCase();
  };
  return [field(0, 4, true), field(4, 6, true), field(6, 8, true), field(8, 10, false), field(10, 16, false)].join('-');
}

/** The GUID of the system; of the BMC where the system's is not reported. */
export async function getGuid(link: IpmiLink, signal: AbortSignal): Promise<string> {
  const system = await link.request({ netfn: app, command: commands.getSystemGuid }, signal);
  if (system.code === 0 && system.data.length >= 16) return decodeGuid(system.data);
  return decodeGuid(await ask(link, { netfn: app, command: commands.getDeviceGuid }, 'Get Device GUID', signal));
}
