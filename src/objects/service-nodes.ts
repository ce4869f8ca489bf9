import { contains, type Ip, ipText, parseIp, prefixText } from '../core/ip.ts';
import { listItems } from '../core/list-items.ts';
import { addressClaim, claimsOf, hostClaim } from './claims.ts';
import type { RangeOptions } from './cluster.ts';
import { type EffectiveReader, siteValue } from './effective.ts';
import { interfacesOf } from './host-interfaces.ts';
import { type ManagementNode, managementNode, networkOf } from './networks.ts';
import { nodeAttribute } from './node-attributes.ts';

/** The service nodes of a node; the first is the one in use, the second its backup. */
export const serviceNodesOf = (reader: EffectiveReader, node: string): readonly string[] =>
  listItems(nodeAttribute(reader, node, 'servicenode') ?? '');

/** A service node by the name that the management node uses, and by the name or address that nodes use. */
export interface ServiceNode {
  readonly name: string;
  readonly address: string;
}

type Address =
  | { readonly address: string; readonly problem?: never }
  | { readonly address?: never; readonly problem: string };

/** What definitions say of service nodes. Many nodes have the same ones, so each is looked up once. */
export class ServiceNodes {
  readonly #reader: EffectiveReader;
  readonly #sees: RangeOptions['sees'];
  readonly #here: ManagementNode;
  readonly #claims = new Map<string, ReadonlySet<string>>();
  readonly #addresses = new Map<string, readonly Ip[]>();

  constructor(reader: EffectiveReader, sees: RangeOptions['sees']) {
    this.#reader = reader;
    this.#sees = sees;
    this.#here = managementNode(reader.snapshot);
  }

  /** Whether nodes can have it as service node: it is a node, or the management node. */
  exists(name: string): boolean {
    return this.#isNode(name) || this.#here.isMeantBy(name);
  }

  /** Whether text names the host: by a name or an address of any of its interfaces. */
  isNamed(host: string, text: string): boolean {
    let claims = this.#claims.get(host);
    if (!claims) {
      const known = this.#isNode(host) ? claimsOf(this.#reader, host).keys() : [];
      this.#claims.set(host, (claims = new Set([this.#claim(host), ...known])));
    }
    return claims.has(this.#claim(text));
  }

  /** The first address that it has in the network of the node, or why there is none. */
  addressTowards(node: string, name: string): Address {
    const ip = parseIp(nodeAttribute(this.#reader, node, 'ip') ?? '');
    if (!ip) return { problem: 'ip is not set' };
    const network = networkOf(this.#reader.snapshot, ip);
    if (!network) return { problem: 'no defined network contains its ip' };
    const found = this.#addressesOf(name).find((address) => contains(network.prefix, address));
    if (found) return { address: ipText(found) };
    return { problem: `no address of ${name} is known in network ${network.name} (${prefixText(network.prefix)})` };
  }

  /**
   * The attributes of a node that moves from one to another. Its other service nodes stay behind the new one, in their order, and its
   * servers follow where they named the old one.
   */
  attributesAfterMove(node: string, old: readonly string[], { name, address }: ServiceNode): Record<string, string> {
    const others = serviceNodesOf(this.#reader, node).filter((other) => !this.isNamed(name, other));
    const moved: Record<string, string> = { servicenode: [name, ...others].join(','), xcatmaster: address };
    const followers = { tftpserver: address, nfsserver: address, monserver: `${name},${address}`, conserver: name };
    for (const [attribute, value] of Object.entries(followers)) {
      const [server] = listItems(nodeAttribute(this.#reader, node, attribute) ?? '');
      if (server !== undefined && old.some((host) => this.isNamed(host, server))) moved[attribute] = value;
    }
    return moved;
  }

  #isNode(name: string): boolean {
    return this.#reader.nodeRow(name) !== undefined && (!this.#sees || this.#sees(name));
  }

  #claim(text: string): string {
    return parseIp(text) ? addressClaim(text) : hostClaim(this.#reader.snapshot, text);
  }

  #addressesOf(name: string): readonly Ip[] {
    let addresses = this.#addresses.get(name);
    if (!addresses) {
      const texts = this.#isNode(name)
        ? interfacesOf(this.#reader, name).map(({ ip }) => ip)
        : [this.#here.isMeantBy(name) ? siteValue(this.#reader.snapshot, 'master') : undefined];
      this.#addresses.set(name, (addresses = texts.flatMap((text) => parseIp(text ?? '') ?? [])));
    }
    return addresses;
  }
}
