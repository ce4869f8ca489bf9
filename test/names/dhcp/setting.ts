import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Row } from '../../../src/database/tables.ts';
import { createLog } from '../../../src/core/log.ts';
import { parseIp } from '../../../src/core/ip.ts';
import type { Dhcp } from '../../../src/names/dhcp/dhcp.ts';
import type { Machine } from '../../../src/names/local-networks.ts';
import { type DhcpSettings, openDhcp } from '../../../src/names/dhcp/open-dhcp.ts';
import { memoryStore, testOrigin, type TestStore } from '../../harness/store.ts';

export const usualSettings: DhcpSettings = {
  daemon: 'process',
  directory: undefined,
  hostsDatabase: undefined,
  bootScript: 'http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
  workerTimeout: 30,
};

/** A machine with these addresses and nothing else. */
export const machineWith = (
  nic: string,
  addresses: readonly string[],
  names: Readonly<Record<string, string>> = {},
  forwards = false,
): Machine => ({
  addresses: () => addresses.map((address) => ({ nic, ip: parseIp(address)! })),
  forwards: () => forwards,
  resolver: () => (name) => Promise.resolve(parseIp(names[name] ?? '')),
});

export const mac = (index: number): string =>
  `52:54:01${[16, 8, 0].map((shift) => `:${((index >> shift) & 255).toString(16).padStart(2, '0')}`).join('')}`;

export type Rows = readonly (readonly [table: string, row: Row])[];

/** The rows of a node with an address and a MAC address. */
export const node = (name: string, ip: string, macs: string): Rows => [
  ['nodelist', { node: name, groups: 'all' }],
  ['hosts', { node: name, ip }],
  ['mac', { node: name, mac: macs }],
];

export interface Setting {
  readonly store: TestStore;
  readonly data: string;
  /** The one that is open now. */
  readonly dhcp: Dhcp;
  configure(): Promise<readonly string[]>;
  reserve(...nodes: string[]): Promise<readonly string[]>;
  release(...nodes: string[]): Promise<void>;
  /** Ends the service and begins another on the same data, as a restart of muster does, with other settings if there are any. */
  reopen(changed?: Partial<DhcpSettings>): Promise<void>;
  close(): Promise<void>;
}

export async function openSetting(
  machine: Machine,
  { prefix = [], ...settings }: Partial<DhcpSettings> & { prefix?: readonly string[] } = {},
): Promise<Setting> {
  const store = await memoryStore();
  const data = mkdtempSync(join(tmpdir(), 'muster-dhcp-'));
  const open = (changed: Partial<DhcpSettings> = {}): Dhcp => {
    const opened = openDhcp(
      { ...usualSettings, ...settings, ...changed },
      { data, store: store.store, log: createLog('silent'), machine, prefix },
    );
    opened.resume();
    return opened;
  };
  let dhcp = open();
  return {
    store,
    data,
    get dhcp() {
      return dhcp;
    },
    configure: () => dhcp.configure(store.current),
    async reserve(...nodes) {
      const { messages, refused } = await dhcp.reserve(store.current, nodes, testOrigin);
      refused.tell();
      return messages;
    },
    release: (...nodes) => dhcp.release(nodes, testOrigin),
    async reopen(changed) {
      await dhcp.close();
      dhcp = open(changed);
    },
    async close() {
      await dhcp.close();
      await store.close();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
