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
}

export interface SnmpLab {
  stop(): Promise<void>;
}

const bridge = '.1.3.6.1.2.1.17';

/** An agent of net-snmp that answers as a switch does: forwarding table, interfaces of its ports, their names. */
export async function startSwitch({ address, port, community, seen, vlan }: SwitchOptions): Promise<SnmpLab> {
  refuseBound('udp', [address], port);
  const directory = await mkdtemp(join(tmpdir(), 'muster-snmp-'));
  const table = vlan === undefined ? `${bridge}.4.3.1.2` : `${bridge}.7.1.2.2.1.2.${vlan}`;
  const lines = Object.entries(seen).flatMap(([mac, name], index) => {
    const bytes = mac.split(':').map((byte) => Number.parseInt(byte, 16));
    return [
      `override ${table}.${bytes.join('.')} integer ${index + 1}`,
      `override ${bridge}.1.4.1.2.${index + 1} integer ${index + 1_001}`,
      `override .1.3.6.1.2.1.31.1.1.1.1.${index + 1_001} octet_str "${name}"`,
    ];
  });
  const file = join(directory, 'snmpd.conf');
  await writeFile(file, [`agentaddress udp:${address}:${port}`, `rocommunity ${community}`, ...lines, ''].join('\n'));
  const own = ['MIBS=', `SNMP_PERSISTENT_DIR=${directory}`];
  // Only what the lines say: no interfaces of this machine.
  const args = ['-f', '-Lo', '-C', '-c', file, '-I', 'vacm_conf,override'];
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
