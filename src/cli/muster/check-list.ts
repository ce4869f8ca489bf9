import type { Invocation } from '../command.ts';
import { UsageError } from '../errors.ts';
import { type ParsedOptions, valued } from '../options.ts';
import {
  checkBoots,
  checkDiscovery,
  checkImages,
  checkManagementNode,
  checkNodes,
  checkStatus,
  type Findings,
} from './checks.ts';
import { detectDhcp, type Wire } from './detect-dhcp.ts';

interface Runnable {
  readonly name: string;
  readonly about: string;
  /** It looks at nodes, those of -n or all. */
  readonly ofNodes?: boolean;
  readonly instead?: undefined;
  /** It asks on a network of this machine: -i, -m and -d say where, as whom, and for how long. */
  readonly onWire?: boolean;
  run(invocation: Invocation, range: string, wire: Wire): Findings;
}

export const wireOptions = {
  i: valued('INTERFACE', 'detect_dhcpd: the interface of this machine to ask on'),
  m: valued('MAC', 'detect_dhcpd: ask as this machine; usually the interface itself'),
  d: valued('SECONDS', 'detect_dhcpd: how long to listen; usually 10'),
} as const;

/** What these options say; a check that asks on no network refuses them. */
export function wireOf(call: Pick<ParsedOptions, 'value' | 'has'>, check: Pick<Runnable, 'name' | 'onWire'>): Wire {
  const given = Object.keys(wireOptions).find((name) => call.has(name));
  if (given !== undefined && !check.onWire)
    throw new UsageError(`${check.name} does not take -${given}: it asks the server.`);
  return { nic: call.value('i'), mac: call.value('m'), seconds: call.value('d') };
}

/** One of xcatprobe's that muster has no use for. */
interface Absent {
  readonly name: string;
  readonly about: string;
  readonly instead: string;
}

/** What `muster doctor` and `xcatprobe` can look at. */
export const checks: readonly (Runnable | Absent)[] = [
  { name: 'clusterstatus', about: 'nodes by their status', ofNodes: true, run: checkStatus },
  {
    name: 'detect_dhcpd',
    about: 'DHCP servers that answer on an interface of this machine (-i)',
    onWire: true,
    run: (_invocation, _range, wire) => detectDhcp(wire),
  },
  {
    name: 'discovery',
    about: 'ranges that are open for unknown machines, and machines that are no node',
    run: checkDiscovery,
  },
  {
    name: 'image',
    about: 'images that diskless nodes run; not here',
    instead: 'muster boot NODERANGE shows which pack of an image each node has booted.',
  },
  {
    name: 'nodecheck',
    about: 'nodes that have the same MAC, BMC, serial number or address',
    ofNodes: true,
    run: checkNodes,
  },
  {
    name: 'osdeploy',
    about: 'where the boot of each node is, and why one does not continue',
    ofNodes: true,
    run: checkBoots,
  },
  { name: 'osimagecheck', about: 'images: can nodes boot them, are their files there', run: checkImages },
  {
    name: 'switch_macmap',
    about: 'MAC addresses that switches know; not here',
    instead: 'nodediscoverls -l shows the switch and port behind which muster has seen a machine.',
  },
  { name: 'xcatmn', about: 'the management node: server, site, networks and services', run: checkManagementNode },
];
