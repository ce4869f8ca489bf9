import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../../../scripts/packages.ts';
import { type LabChild, startChild } from '../child.ts';
import { makeNamespace, type Namespace } from '../netns.ts';

/** A network of its own that machines boot in: a bridge with the management node's address, and a port for each machine. */
export interface BootNetwork {
  readonly namespace: Namespace;
  /** Of the management node. */
  readonly address: string;
  readonly interface: string;
  remove(): void;
}

export const bootNet = { net: '10.77.0.0', mask: '255.255.0.0' } as const;
export const tapOf = (index: number): string => `tap${index}`;
/** The address that is reserved for a machine. */
export const machineAddress = (index: number): string => `10.77.1.${index + 1}`;

export function makeBootNetwork(machines: number): BootNetwork {
  const namespace = makeNamespace();
  const ip = (...words: string[]): void => void namespace.run('ip', ...words);
  const address = '10.77.0.1';
  ip('link', 'add', 'br0', 'type', 'bridge', 'forward_delay', '0', 'stp_state', '0');
  ip('address', 'add', `${address}/16`, 'dev', 'br0');
  ip('link', 'set', 'br0', 'up');
  // Kea serves no interface without a carrier, and a tap has none until its machine runs.
  ip('link', 'add', 'carrier0', 'type', 'veth', 'peer', 'name', 'carrier1');
  ip('link', 'set', 'carrier1', 'master', 'br0', 'up');
  ip('link', 'set', 'carrier0', 'up');
  for (let index = 0; index < machines; index++) {
    ip('tuntap', 'add', tapOf(index), 'mode', 'tap');
    ip('link', 'set', tapOf(index), 'master', 'br0', 'up');
  }
  return { namespace, address, interface: 'br0', remove: () => namespace.remove() };
}

/** iPXE waits 15 s for a router of IPv6, unless one says that it has nothing for it. */
export function startSilentRouter({ namespace, interface: nic }: BootNetwork, directory: string): LabChild | undefined {
  if (!isInstalled('radvd')) return undefined;
  const file = (ending: string): string => join(directory, `radvd.${ending}`);
  const lines = 'AdvSendAdvert on; AdvDefaultLifetime 0; MinRtrAdvInterval 3; MaxRtrAdvInterval 4;';
  writeFileSync(file('conf'), `interface ${nic} { ${lines} };\n`);
  const args = ['-n', '-m', 'stderr', '-p', file('pid'), '-C', file('conf')];
  const [program, ...words] = namespace.command('radvd', ...args);
  return startChild(program, words, { directory, logFile: file('log') });
}
