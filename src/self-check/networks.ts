import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { setImmediate as pause } from 'node:timers/promises';
import { AddressGuard } from '../core/address-guard.ts';
import { type Finding, wellOf, wrongOf } from '../core/finding.ts';
import { type Ip, ipText, parseIp, type Prefix, prefixText } from '../core/ip.ts';
import { localNetworks, reservationsOf } from '../names/index.ts';
import { EnclosingNetworks } from '../network-hints.ts';
import { effectiveReader } from '../objects/effective.ts';
import { networksOf } from '../objects/networks.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import type { Ground } from './self-check.ts';

const mostNetworks = 8;
/** Nodes that are looked at before others get their turn. */
const perTurn = 200;

/** How this machine reaches BMCs and nodes, and whether the settings let it. */
export async function checkNetworks({ config, store }: Ground): Promise<Finding[]> {
  const { hardware, remote } = config;
  return [
    ...(await checkAddresses(store.current, 'bmc', 'BMCs', 'hardware.networks', hardware.networks)),
    ...(await checkAddresses(store.current, 'ip', 'nodes', 'remote.networks', remote.networks)),
  ];
}

async function checkAddresses(
  snapshot: Ground['store']['current'],
  attribute: string,
  whose: string,
  setting: string,
  allowed: readonly string[] | undefined,
): Promise<Finding[]> {
  const guard = new AddressGuard(allowed);
  const reader = effectiveReader(snapshot);
  const found = new EnclosingNetworks(networksOf(snapshot).map(({ prefix }) => prefix));
  const outside: string[] = [];
  for (const [i, node] of snapshot.rows('nodelist').keys().entries()) {
    if (i % perTurn === 0) await pause();
    const [value = ''] = (nodeAttribute(reader, node, attribute) ?? '').split(',', 1);
    const ip = parseIp(value);
    if (!ip) continue;
    found.add(ip);
    if (allowed && !isAllowed(guard, ipText(ip))) outside.push(node);
  }
  const findings: Finding[] = [];
  if (outside.length > 0)
    findings.push(
      wrongOf(
        'networks',
        `${outside.length} nodes, such as ${outside[0]}, have a ${attribute} outside of ${setting} (${allowed!.join(', ')}), so muster does not reach them: add their network there, or correct ${attribute}`,
      ),
    );
  const networks = found.atMost(mostNetworks);
  if (!networks) return [...findings, wellOf('networks', `the ${whose} are in more than ${mostNetworks} networks`)];
  for (const network of networks) findings.push(await wayTo(network, whose));
  return findings;
}

function isAllowed(guard: AddressGuard, address: string): boolean {
  try {
    guard.check(address, address);
    return true;
  } catch {
    return false;
  }
}

/** As the kernel would go there. Nothing is sent. */
async function wayTo(network: Prefix, whose: string): Promise<Finding> {
  const shown = prefixText(network);
  const from = await sourceFor({ ...network, value: network.value + 1n });
  if (from === undefined)
    return wrongOf(
      'networks',
      `no way to ${shown}, where ${whose} are: give an interface of this machine an address there, or add a route ("ip route add ${shown} via GATEWAY")`,
    );
  return wellOf('networks', `${whose} in ${shown} are reached from ${from}${interfaceOf(from)}`);
}

function sourceFor(ip: Ip): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(ip.family === 6 ? 'udp6' : 'udp4');
    const end = (address: string | undefined): void => {
      socket.close();
      resolve(address);
    };
    socket.once('error', () => end(undefined));
    socket.once('connect', () => end(socket.address().address));
    socket.connect(9, ipText(ip));
  });
}

function interfaceOf(address: string): string {
  const found = Object.entries(networkInterfaces()).find(([, list]) => list?.some((each) => each.address === address));
  return found ? ` (${found[0]})` : '';
}

/** DHCP requests are heard on the network itself, or come through a relay. */
export async function checkDhcpNetworks({ store, dhcp }: Ground): Promise<Finding[]> {
  const isServing = await dhcp.isServing().catch(() => false);
  if (isServing === undefined) return [];
  const snapshot = store.current;
  const { connected } = localNetworks();
  const wanted = networksOf(snapshot).filter(({ row }) => (row['dhcpserver'] ?? '') !== '' || row['dynamicrange']);
  const nodes = reservationsOf(snapshot).byNode.size;
  const findings = [wellOf('dhcp', `${nodes} nodes have a reservation`)];
  for (const { name, prefix } of wanted) {
    const shown = prefixText(prefix);
    const here = connected.find((each) => prefixText(each.prefix) === shown);
    findings.push(
      here
        ? wellOf(
            'dhcp',
            `${name} (${shown}) is heard on ${here.device}; "muster doctor detect_dhcpd -i ${here.device}" shows who answers there`,
          )
        : wellOf(
            'dhcp',
            `${name} (${shown}) is not on an interface of this machine: a router or a service node there has to relay DHCP`,
          ),
    );
  }
  return findings;
}
