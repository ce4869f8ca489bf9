import { hostname } from 'node:os';
import type { AddressGuard } from '../../core/address-guard.ts';
import { Unreachable } from '../../core/errors.ts';
import { ipText } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { type EffectiveReader, effectiveReader, listItems, siteValue } from '../../objects/effective.ts';
import type { Resolve } from '../../objects/host-names.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import type { Target } from '../../protocols/ssh/target.ts';

export interface TargetOptions {
  readonly snapshot: Snapshot;
  /** Finds addresses of names that no definition gives one. */
  readonly resolve: Resolve;
  readonly guard: AddressGuard;
  readonly port: number;
  readonly user: string;
}

/** Where nodes are, and through which service node they are reached. */
export class Targets {
  readonly #options: TargetOptions;
  readonly #reader: EffectiveReader;
  /** Service nodes serve many nodes. */
  readonly #jumps = new Map<string, Promise<Target>>();

  constructor(options: TargetOptions) {
    this.#options = options;
    this.#reader = effectiveReader(options.snapshot);
  }

  async of(node: string): Promise<Target> {
    const via = this.#serviceNode(node);
    const [target, jump] = await Promise.all([this.#direct(node), via === undefined ? undefined : this.#jump(via)]);
    return jump === undefined ? target : { ...target, jump };
  }

  async #direct(name: string): Promise<Target> {
    const { guard, port, user } = this.#options;
    return { name, address: await guard.admit(await this.#address(name)), port, user };
  }

  #jump(name: string): Promise<Target> {
    let jump = this.#jumps.get(name);
    if (!jump) this.#jumps.set(name, (jump = this.#direct(name)));
    return jump;
  }

  async #address(name: string): Promise<string> {
    const ip = this.#reader.nodeRow(name) && nodeAttribute(this.#reader, name, 'ip');
    if (ip) return ip;
    const found = await this.#options.resolve(name);
    if (!found) throw new Unreachable(`no address is known of ${name}; set its ip, or make it known to DNS.`);
    return ipText(found);
  }

  /** The first of its service nodes, unless that is this machine. */
  #serviceNode(node: string): string | undefined {
    const [first] = listItems(nodeAttribute(this.#reader, node, 'servicenode') ?? '');
    const [own = ''] = hostname().split('.', 1);
    const master = siteValue(this.#options.snapshot, 'master');
    return first === undefined || [node, master, own, hostname()].includes(first) ? undefined : first;
  }
}
