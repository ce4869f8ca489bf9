import { Fault } from '../../core/errors.ts';
import { type Ip, ipText, isSameIp, parseIp } from '../../core/ip.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { interfacesOf } from '../../objects/host-interfaces.ts';
import type { HostEntry } from '../../objects/host-names.ts';
import type { HostLine } from './hosts-file.ts';

/**
 * Refuses entries whose address the file gives to another node that still has it: the one would take the other's line. Looks only at
 * nodes that the lines of these addresses name, so one node costs no more in a large cluster.
 */
export function checkHolders(
  reader: EffectiveReader,
  lines: readonly HostLine[],
  entries: readonly HostEntry[],
  nodes: ReadonlySet<string>,
): void {
  const wanted = new Map(entries.map((entry) => [ipText(entry.ip), entry]));
  for (const line of lines) {
    const entry = wanted.get(line.address);
    if (!entry) continue;
    // Most of these lines are the entry's own; they must not cost much.
    const others = line.names.filter(
      (name) => name !== entry.short && name !== entry.long && !entry.others.includes(name),
    );
    const holder = others
      .flatMap(nodesMeant)
      .find((node) => !nodes.has(node) && reader.nodeRow(node) && hasAddress(reader, node, entry.ip));
    if (holder === undefined) continue;
    throw new Fault(
      'invalid',
      `Node ${entry.node}, ${entry.attribute}: node ${holder} has the address ${ipText(entry.ip)} too, and its line in the hosts file; give one of them another address.`,
    );
  }
}

/** Nodes that a name may be of: names of interfaces have something before or behind the node's, set off by "-". */
function nodesMeant(name: string): string[] {
  const host = name.split('.', 1)[0]!;
  const parts = host.split('-');
  return [
    name,
    ...parts.map((_, i) => parts.slice(0, i + 1).join('-')),
    ...parts.map((_, i) => parts.slice(i).join('-')),
  ];
}

function hasAddress(reader: EffectiveReader, node: string, ip: Ip): boolean {
  try {
    return interfacesOf(reader, node).some((found) => {
      const other = parseIp(found.ip ?? '');
      return other !== undefined && isSameIp(other, ip);
    });
  } catch (error) {
    // A definition that cannot be read is refused where it is used; it keeps no address from others.
    if (error instanceof Fault) return false;
    throw error;
  }
}
