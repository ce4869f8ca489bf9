import type { Connection } from './client.ts';

export type Definition = Record<string, string>;

/** As many as fit into the body of one request. */
const nodesPerRequest = 20_000;
const nodesPerRack = 40;

/** Names of equal length, so that their order is that of their numbers: n000001, n000002, ... */
export const nodeName = (number: number): string => `n${String(number).padStart(6, '0')}`;
export const nodeRange = (first: number, last: number): string => `${nodeName(first)}-${nodeName(last)}`;

/** Fifteen attributes from eight tables, none of them inherited from a group: the most there is to read per node. */
function definition(number: number): Definition {
  const octets = `${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  const rack = Math.ceil(number / nodesPerRack);
  return {
    groups: `compute,all,rack${rack}`,
    arch: number % 4 === 0 ? 'aarch64' : 'x86_64',
    bmc: `10.${octets}`,
    bmcusername: 'admin',
    bmcpassword: 'secret',
    ip: `11.${octets}`,
    mac: `52:54:00:${[16, 8, 0].map((shift) => ((number >> shift) & 255).toString(16).padStart(2, '0')).join(':')}`,
    mgt: 'ipmi',
    mtm: '7X21CTO1WW',
    netboot: 'xnba',
    os: 'rhels9.4',
    profile: 'compute',
    provmethod: 'rhels9.4-x86_64-netboot-compute',
    rack: `r${rack}`,
    serial: `J30${String(number).padStart(7, '0')}`,
  };
}

export function definitions(first: number, last: number): Record<string, Definition> {
  const cluster: Record<string, Definition> = {};
  for (let number = first; number <= last; number++) cluster[nodeName(number)] = definition(number);
  return cluster;
}

/** Defines the nodes 1 to `count` by as few bulk PUTs as the limit of the body allows. */
export async function putCluster(connection: Connection, count: number): Promise<void> {
  for (let first = 1; first <= count; first += nodesPerRequest) {
    const body = definitions(first, Math.min(count, first + nodesPerRequest - 1));
    await connection.expect({ method: 'PUT', path: '/muster/nodes', body });
  }
}
