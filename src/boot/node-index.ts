import { canonicalAddress, networkOf } from '../access/addresses.ts';
import { Fault } from '../core/errors.ts';
import { normalMac } from '../core/mac.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import { interfacesOf } from '../objects/host-interfaces.ts';
import { macClaim, onlyKeeper } from '../objects/kept-claims.ts';
import { NodeMarks } from '../objects/node-marks.ts';
import { reservationsOf } from '../names/index.ts';

const macTable = tableNamed('mac');

/** The MAC addresses of a node, in lower case with colons; what is none is passed over. */
export const macsOf = (reader: EffectiveReader, node: string): string[] =>
  (reader.row(macTable, node)?.['mac'] ?? '')
    .split('|')
    .flatMap((part) => normalMac(part.split('!', 1)[0]!.trim()) ?? []);

/**
 * Which node has an address or a MAC. What several nodes claim by their definitions is nobody's, unless a reservation decides it; a MAC
 * stays with the node that had it first.
 */
export class NodeIndex {
  readonly #store: Pick<Store, 'current'>;
  readonly #addresses = new NodeMarks((reader, node) => interfaceAddresses(reader, node).map(canonicalAddress));
  readonly #macs = new NodeMarks(macsOf);

  constructor(store: Pick<Store, 'current'>) {
    this.#store = store;
  }

  /** What all is looked up in. */
  get snapshot(): Snapshot {
    return this.#store.current;
  }

  byAddress(address: string): string | undefined {
    const { snapshot } = this;
    const plain = canonicalAddress(address);
    return reservationsOf(snapshot).byAddress(plain)?.node ?? only(this.#addresses.nodes(snapshot, plain));
  }

  /** Whether who asks may be the node. Of one that no address is known of, everybody whom nobody knows may. */
  mayBe(node: string, address: string): boolean {
    const { snapshot } = this;
    const found = this.byAddress(address);
    if (found !== undefined) return found === node;
    return reservationsOf(snapshot).ofNode(node).length === 0 && this.#addresses.of(snapshot, node).size === 0;
  }

  /** What an address is counted by: a node by itself, since a rack shares an IPv6 /64, and strangers there, who have all of it, together. */
  countedAs(address: string): string {
    return this.byAddress(address) === undefined ? networkOf(address) : canonicalAddress(address);
  }

  /** In lower case, with colons. */
  byMac(mac: string): string | undefined {
    const { snapshot } = this;
    const nodes = this.#macs.nodes(snapshot, mac);
    const reserved = nodes.length > 1 ? reservationsOf(snapshot).nodeOfMac(mac) : undefined;
    if (reserved !== undefined && nodes.includes(reserved)) return reserved;
    return onlyKeeper(snapshot, nodes, macClaim(mac));
  }
}

/** A value that is wrong gives the node no address; whoever uses it elsewhere gets the error. */
function interfaceAddresses(reader: EffectiveReader, node: string): string[] {
  try {
    return interfacesOf(reader, node).flatMap(({ ip }) => ip ?? []);
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}

const only = (nodes: readonly string[]): string | undefined => (nodes.length === 1 ? nodes[0] : undefined);
