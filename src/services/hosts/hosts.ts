import { Fault } from '../../core/errors.ts';
import { parseIp } from '../../core/ip.ts';
import { Turns } from '../../core/turns.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader, siteValue } from '../../objects/effective.ts';
import { visibleNodes } from '../../objects/groups.ts';
import { hasHostData, interfacesOf } from '../../objects/host-interfaces.ts';
import { hostEntries, type HostEntries, type Resolve } from '../../objects/host-names.ts';
import { type ManagementNode, managementNode } from '../../objects/management-node.ts';
import { beginning, type HostLine, makeResolve, parseHosts, readHosts } from './hosts-file.ts';
import { HostsWriter } from './hosts-writer.ts';
import type { NameOrder } from './line-format.ts';
import { mergeHosts, removeHosts } from './merge.ts';
import { checkHolders, isOwnLine } from './own-lines.ts';
import type { NameSettings } from './settings.ts';

export interface HostsOptions {
  /** Which name comes first; undefined: as the site attribute FQDNfirst says. */
  readonly order: NameOrder | undefined;
  readonly longOthers: boolean;
  /** Drops all lines but the management node's own. */
  readonly fresh: boolean;
}

/** The nodes' names and addresses in the hosts file. */
export class Hosts {
  readonly #settings: NameSettings;
  readonly #writer: HostsWriter;
  /** What was asked for later, and so knows later definitions, is written later. */
  readonly #turns = new Turns();

  constructor(settings: NameSettings) {
    this.#settings = settings;
    this.#writer = new HostsWriter(settings.hostsFile);
  }

  get path(): string {
    return this.#settings.hostsFile;
  }

  /** Finds addresses of names that no definition gives one. */
  resolve(): Resolve {
    return makeResolve(() => readHosts(this.path), this.#settings.lookup);
  }

  /** Completes what a killed process has begun. */
  finishInterrupted(): Promise<void> {
    return this.#writer.finishInterrupted();
  }

  /** Writes the lines of the nodes, or of all nodes that have an address; answers with what was left out. */
  write(snapshot: Snapshot, nodes: readonly string[] | undefined, options: HostsOptions): Promise<string[]> {
    return this.#turns.take(() => this.#write(snapshot, nodes, options));
  }

  async #write(snapshot: Snapshot, nodes: readonly string[] | undefined, options: HostsOptions): Promise<string[]> {
    const asked = nodes ?? nodesWithHostData(snapshot);
    const found = await hostEntries(snapshot, asked, this.resolve());
    const own = managementNode(snapshot);
    const reader = effectiveReader(snapshot);
    const set = new Set(asked);
    const format = { order: options.order ?? siteOrder(snapshot), longOthers: options.longOthers };
    let warnings: readonly string[] = [];
    await this.#writer.update((lines) => {
      const kept = options.fresh ? ownOnly(lines, own) : lines;
      checkHolders(reader, kept, found.entries, set);
      const merged = mergeHosts(kept, found.entries, own, format);
      warnings = merged.warnings;
      return merged.text;
    });
    if (!nodes) refuseInvalid(found);
    return [...found.warnings, ...warnings];
  }

  remove(snapshot: Snapshot, nodes: readonly string[]): Promise<void> {
    const reader = effectiveReader(snapshot);
    const named = nodes.flatMap((node) =>
      interfacesOf(reader, node).map(({ name, ip }) => ({ name, ip: parseIp(ip ?? '') })),
    );
    const own = managementNode(snapshot);
    return this.#turns.take(() => this.#writer.update((lines) => removeHosts(lines, named, own)));
  }
}

function nodesWithHostData(snapshot: Snapshot): string[] {
  const reader = effectiveReader(snapshot);
  return visibleNodes(snapshot).filter((node) => hasHostData(reader, node));
}

function ownOnly(lines: readonly HostLine[], own: ManagementNode): HostLine[] {
  const kept = lines.filter((line) => isOwnLine(own, line));
  return kept.some(({ names }) => names.includes('localhost')) ? kept : [...parseHosts(beginning), ...kept];
}

const siteOrder = (snapshot: Snapshot): NameOrder =>
  /^(1|y|yes|enable|enabled|true)$/i.test(siteValue(snapshot, 'FQDNfirst') ?? '') ? 'long' : 'short';

/** Of all nodes, one whose address is none is an error; the others' lines are written all the same. */
function refuseInvalid({ invalid }: HostEntries): void {
  if (invalid.length === 0) return;
  throw new Fault(
    'invalid',
    invalid.map(({ node, ip }) => `Invalid IP Addr '${ip}' for node '${node}'.`),
  );
}
