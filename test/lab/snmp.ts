import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refuseBound, waitBound } from './bound.ts';
import { startChild } from './child.ts';

export interface SwitchOptions {
  readonly address: string;
  readonly port: number;
  readonly community: string;
  /** The names of ports by the MAC addresses seen behind them. */
  readonly seen: Readonly<Record<string, string>>;
  /** Tells them for each VLAN, as switches with several do. */
  readonly vlan?: number;
  /** The devices that it hears by LLDP. */
  readonly hears?: readonly LldpNeighbour[];
  /** What it says of itself. */
  readonly itself?: { readonly name: string; readonly mac: string; readonly ports: number };
}

export interface LldpNeighbour {
  readonly port: string;
  readonly name: string;
  readonly mac: string;
  readonly isBridge: boolean;
  /** Where it is managed. */
  readonly address?: string;
}

export interface SnmpLab {
  stop(): Promise<void>;
}

const bridge = '.1.3.6.1.2.1.17';
const lldp = '.1.0.8802.1.1.2.1';

/** LLDP-MIB: the own port, the neighbour at it, and where that is managed. */
function neighbourLines({ port, name, mac, isBridge, address }: LldpNeighbour, index: number): string[] {
  const row = `4200000000.${index + 1}.7`;
  const cell = (column: number, value: string): string => `override ${lldp}.4.1.1.${column}.${row} ${value}`;
  return [
    `override ${lldp}.3.7.1.3.${index + 1} octet_str "${port}"`,
    cell(4, 'integer 4'),
    cell(5, `octet_str 0x${mac.replaceAll(':', '')}`),
    cell(9, `octet_str "${name}"`),
    cell(10, 'octet_str "a neighbour of the lab"'),
    cell(12, `octet_str 0x${isBridge ? '28' : '01'}00`),
    ...(address === undefined ? [] : [`override ${lldp}.4.2.1.3.${row}.1.4.${address} integer 2`]),
  ];
}

/** An agent of net-snmp that answers as a switch does: forwarding table, interfaces of its ports, their names. */
export async function startSwitch({
  address,
  port,
  community,
  seen,
  vlan,
  hears = [],
  itself,
}: SwitchOptions): Promise<SnmpLab> {
  const table = vlan === undefined ? `${bridge}.4.3.1.2` : `${bridge}.7.1.2.2.1.2.${vlan}`;
  const lines = Object.entries(seen).flatMap(([mac, name], index) => {
    const bytes = mac.split(':').map((byte) => Number.parseInt(byte, 16));
    return [
      `override ${table}.${bytes.join('.')} integer ${index + 1}`,
      `override ${bridge}.1.4.1.2.${index + 1} integer ${index + 1_001}`,
      `override .1.3.6.1.2.1.31.1.1.1.1.${index + 1_001} octet_str "${name}"`,
    ];
  });
  lines.push(...hears.flatMap(neighbourLines));
  if (itself)
    lines.push(
      `override .1.3.6.1.2.1.1.1.0 octet_str "a switch of the lab"`,
      `override .1.3.6.1.2.1.1.5.0 octet_str "${itself.name}"`,
      `override ${bridge}.1.1.0 octet_str 0x${itself.mac.replaceAll(':', '')}`,
      `override ${bridge}.1.2.0 integer ${itself.ports}`,
    );
  // Only what the lines say: no interfaces of this machine.
  return startAgent({ address, port, lines: [`rocommunity ${community}`, ...lines], only: 'vacm_conf,override' });
}

interface AgentOptions extends Pick<SwitchOptions, 'address' | 'port'> {
  readonly lines: readonly string[];
  /** Of its modules only these; with users of version 3 all of them. */
  readonly only?: string;
}

/** An agent of net-snmp with this configuration. */
export async function startAgent({ address, port, lines, only }: AgentOptions): Promise<SnmpLab> {
  refuseBound('udp', [address], port);
  const directory = await mkdtemp(join(tmpdir(), 'muster-snmp-'));
  const file = join(directory, 'snmpd.conf');
  await writeFile(file, [`agentaddress udp:${address}:${port}`, ...lines, ''].join('\n'));
  const own = ['MIBS=', `SNMP_PERSISTENT_DIR=${directory}`];
  const args = ['-f', '-Lo', '-C', '-c', file, ...(only ? ['-I', only] : [])];
  const child = startChild('env', [...own, '/usr/sbin/snmpd', ...args], {
    directory,
    logFile: join(directory, 'log'),
  });
  const stop = async (): Promise<void> => {
    await child.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await waitBound('udp', [address], port, [child]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}
