import { ipText, parseIp } from '../../core/ip.ts';
import type { Binding, Oid } from '../../protocols/snmp/message.ts';
import { type SnmpAgent, walk } from '../../protocols/snmp/session.ts';
import { textOf } from '../../protocols/snmp/values.ts';
import { type FoundSwitch, macText } from './switch-search.ts';

/** LLDP-MIB (IEEE 802.1AB): what a switch hears of its neighbours, at which addresses these are managed, and its own ports. */
const mib = [1, 0, 8802, 1, 1, 2, 1];
const neighbours = [...mib, 4, 1, 1];
const managedAt = [...mib, 4, 2, 1, 3];
const ownPorts = [...mib, 3, 7, 1, 3];

const columns = { chassisKind: 4, chassis: 5, name: 9, description: 10, enabled: 12 } as const;
/** The chassis is named by a MAC address. */
const macKind = 4;
/** The first bit of the capabilities is the highest of the first byte; the third says that the neighbour is a bridge. */
const bridgeBit = 0x20;

/** The switches that a switch hears by LLDP. Whoever is no bridge, such as a node, is left out. */
export async function askNeighbours(agent: SnmpAgent, signal: AbortSignal): Promise<FoundSwitch[]> {
  const rows = Map.groupBy(await walk(agent, neighbours, signal), ({ oid }) => oid.slice(1).join());
  if (rows.size === 0) return [];
  const addresses = addressesIn(await walk(agent, managedAt, signal));
  const ports = new Map((await walk(agent, ownPorts, signal)).map(({ oid, content }) => [oid[0], textOf(content)]));
  return [...rows].flatMap(([key, cells]) => {
    const cell = (column: number): Buffer | undefined => cells.find(({ oid }) => oid[0] === column)?.content;
    if (((cell(columns.enabled)?.[0] ?? 0) & bridgeBit) === 0) return [];
    const chassis = cell(columns.chassis);
    // The name of a row: when it changed, the own port, and a number.
    const port = cells[0]!.oid[2];
    return {
      address: addresses.get(key) ?? '',
      name: textOf(cell(columns.name)),
      mac: cell(columns.chassisKind)?.at(-1) === macKind ? macText(chassis) : '',
      description: textOf(cell(columns.description)),
      heardby: `${agent.address} port ${ports.get(port) || port}`,
    };
  });
}

/** By the names of rows: the address follows them, after its kind and its length. A neighbour may have several; the first counts. */
function addressesIn(rows: readonly Binding[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { oid } of rows) {
    const key = oid.slice(0, 3).join();
    const address = addressIn(oid.slice(3));
    if (address !== undefined && !found.has(key)) found.set(key, address);
  }
  return found;
}

const [ipv4, ipv6] = [1, 2];

function addressIn([kind, length, ...bytes]: Oid): string | undefined {
  if (bytes.length !== length || bytes.some((byte) => byte > 255)) return undefined;
  if (kind === ipv4 && length === 4) return bytes.join('.');
  if (kind !== ipv6 || length !== 16) return undefined;
  const groups = Array.from({ length: 8 }, (_, at) => (bytes[2 * at]! * 256 + bytes[2 * at + 1]!).toString(16));
  const ip = parseIp(groups.join(':'));
  return ip && ipText(ip);
}
