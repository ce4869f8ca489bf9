import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { EffectiveReader } from './effective.ts';
import { clusterDomains } from './foreign-names.ts';
import type { HostInterface } from './host-interfaces.ts';
import { checkHostName } from './host-name-check.ts';
import { type ManagementNode, managementNode } from './management-node.ts';

/** Sees to it that a name means one host of the cluster only. */
export class HostNameClaims {
  readonly #reader: EffectiveReader;
  readonly #own: ManagementNode;
  readonly #clusterDomains: ReadonlySet<string>;
  /** The nodes that have given their interfaces names. */
  readonly #interfaceNames = new Map<string, string>();

  constructor(snapshot: Snapshot, reader: EffectiveReader) {
    this.#reader = reader;
    this.#own = managementNode(snapshot);
    this.#clusterDomains = clusterDomains(snapshot);
  }

  /** Refuses names of an interface that no host can have, or that are another's. */
  claim(node: string, found: HostInterface, { short, long }: { readonly short: string; readonly long: string }): void {
    const names = `Node ${node}, ${found.nameAttribute}`;
    checkHostName(long, names);
    if (found.name !== node) {
      this.#checkFree(short, node, names);
      this.#claimName(short, node, names);
    }
    for (const other of found.others) {
      const where = `Node ${node}, ${found.othersAttribute}`;
      checkHostName(other, where);
      this.#checkFree(other, node, where);
    }
  }

  #checkFree(name: string, node: string, where: string): void {
    const meant = this.#nodeMeant(name);
    if (meant !== undefined && meant !== node)
      throw new Fault('invalid', `${where}: "${name}" is the name of another node.`);
    if (this.#own.hasName(name) && !this.#own.hasName(node))
      throw new Fault('invalid', `${where}: "${name}" belongs to the management node.`);
  }

  /** The node whose name it is: names of hosts are the same in capital letters, and with a domain of the cluster. */
  #nodeMeant(name: string): string | undefined {
    const dot = name.indexOf('.');
    const short = dot > 0 && this.#clusterDomains.has(name.slice(dot + 1).toLowerCase()) ? name.slice(0, dot) : name;
    return [short, short.toLowerCase()].find((each) => this.#reader.nodeRow(each));
  }

  /** Two nodes that give an interface the same name would take each other's line. */
  #claimName(name: string, node: string, where: string): void {
    const other = this.#interfaceNames.get(name.toLowerCase());
    if (other !== undefined && other !== node)
      throw new Fault('invalid', `${where}: "${name}" is the name of an interface of node ${other} too.`);
    this.#interfaceNames.set(name.toLowerCase(), node);
  }
}
