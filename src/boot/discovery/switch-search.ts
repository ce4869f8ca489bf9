import type { Binding, Oid } from '../../protocols/snmp/message.ts';
import { type SnmpAgent, walk } from '../../protocols/snmp/session.ts';
import { numberOf, textOf } from '../../protocols/snmp/values.ts';

/** A switch that has answered, or that another one hears by LLDP. */
export interface FoundSwitch {
  /** Empty: it announces none. */
  readonly address: string;
  /** What it calls itself; may be empty. */
  readonly name: string;
  readonly mac: string;
  /** Absent: it was not asked itself. */
  readonly ports?: number;
  readonly description: string;
  /** Which switch hears it, at which port. */
  readonly heardby?: string;
}

/** RFC 3418: what a device says of itself. RFC 4188: its address as a bridge, and how many ports that has. */
const system = [1, 3, 6, 1, 2, 1, 1];
const bridge = [1, 3, 6, 1, 2, 1, 17, 1];
const [description, name] = [
  [1, 0],
  [5, 0],
] as const;
const [bridgeAddress, bridgePorts] = [
  [1, 0],
  [2, 0],
] as const;

/** Asks whoever is there whether it is a switch: a device with a bridge of at least one port. Undefined: it is none. */
export async function askSwitch(agent: SnmpAgent, signal: AbortSignal): Promise<FoundSwitch | undefined> {
  const bridgeRows = await walk(agent, bridge, signal);
  const counted = valueAt(bridgeRows, bridgePorts);
  const ports = counted && numberOf(counted);
  if (!ports) return undefined;
  const systemRows = await walk(agent, system, signal);
  return {
    address: agent.address,
    name: textOf(valueAt(systemRows, name)?.content),
    mac: macText(valueAt(bridgeRows, bridgeAddress)?.content),
    ports,
    description: textOf(valueAt(systemRows, description)?.content),
  };
}

export const macText = (bytes: Buffer | undefined): string =>
  bytes?.length === 6 ? [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':') : '';

const valueAt = (rows: readonly Binding[], wanted: Oid): Binding | undefined =>
  rows.find(({ oid }) => oid.join() === wanted.join());
