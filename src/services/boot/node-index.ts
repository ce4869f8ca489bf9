import { canonicalAddress } from '../../access/addresses.ts';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import { tableNamed } from '../../database/tables.ts';
import { affectedNodes } from '../../objects/catalog.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import { interfacesOf } from '../../objects/host-interfaces.ts';
import { normalMac, reservationsOf } from '../dhcp/reservations.ts';

interface Marks {
  readonly addresses: readonly string[];
  readonly macs: readonly string[];
}

const macTable = tableNamed('mac');

/** Which node has an address or a MAC. What several nodes claim by their definitions is nobody's, unless a reservation decides it. */
export class NodeIndex {
  readonly #store: Pick<Store, 'current'>;
  #snapshot: Snapshot | undefined;
  readonly #marks = new Map<string, Marks>();
  readonly #byAddress = new Map<string, string[]>();
  readonly #byMac = new Map<string, string[]>();

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
    this.#advance(snapshot);
    return reservationsOf(snapshot).byAddress(plain)?.node ?? only(this.#byAddress.get(plain));
  }

  /** In lower case, with colons. */
  byMac(mac: string): string | undefined {
    this.#advance(this.snapshot);
    return only(this.#byMac.get(mac));
  }

  /** What differs from the snapshot that was looked at last is all that has to be looked at. */
  #advance(snapshot: Snapshot): void {
    const before = this.#snapshot;
    if (before === snapshot) return;
    this.#snapshot = snapshot;
    const affected = before ? affectedNodes(before, snapshot) : 'all';
    const reader = effectiveReader(snapshot);
    const nodes = affected === 'all' ? new Set([...this.#marks.keys(), ...snapshot.rows('nodelist').keys()]) : affected;
    for (const node of nodes) this.#put(node, reader.nodeRow(node) && marksOf(reader, node));
  }

  #put(node: string, marks: Marks | undefined): void {
    const old = this.#marks.get(node);
    for (const address of old?.addresses ?? []) drop(this.#byAddress, address, node);
    for (const mac of old?.macs ?? []) drop(this.#byMac, mac, node);
    if (!marks) {
      this.#marks.delete(node);
      return;
    }
    this.#marks.set(node, marks);
    for (const address of marks.addresses) add(this.#byAddress, address, node);
    for (const mac of marks.macs) add(this.#byMac, mac, node);
  }
}

function marksOf(reader: EffectiveReader, node: string): Marks {
  const macs = (reader.row(macTable, node)?.['mac'] ?? '')
    .split('|')
    .flatMap((part) => normalMac(part.split('!', 1)[0]!.trim()) ?? []);
  const addresses = interfaceAddresses(reader, node).map(canonicalAddress);
  return { addresses: [...new Set(addresses)], macs: [...new Set(macs)] };
}

/** A value that is wrong gives the node no address; whoever uses it elsewhere is told. */
function interfaceAddresses(reader: EffectiveReader, node: string): string[] {
  try {
    return interfacesOf(reader, node).flatMap(({ ip }) => ip ?? []);
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}

const only = (nodes: readonly string[] | undefined): string | undefined => (nodes?.length === 1 ? nodes[0] : undefined);

function add(map: Map<string, string[]>, key: string, node: string): void {
  const nodes = map.get(key);
  if (nodes) nodes.push(node);
  else map.set(key, [node]);
}

function drop(map: Map<string, string[]>, key: string, node: string): void {
  const left = map.get(key)?.filter((each) => each !== node) ?? [];
  if (left.length > 0) map.set(key, left);
  else map.delete(key);
}
