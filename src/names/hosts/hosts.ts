import { join } from 'node:path';
import { Type } from 'typebox';
import { ipText, parseIp } from '../../core/ip.ts';
import { Path, setting, Switch, type ValuesOf } from '../../core/settings.ts';
import { Turns } from '../../core/waiting.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader, siteValue } from '../../objects/effective.ts';
import { visibleNodes } from '../../objects/groups.ts';
import { hasHostData, interfacesOf } from '../../objects/host-interfaces.ts';
import { hostEntries, type HostEntries, type HostEntry, type Resolve } from '../../objects/host-names.ts';
import { type ManagementNode, managementNode } from '../../objects/networks.ts';
import { RefusedNodes } from '../../objects/select.ts';
import { ServerName } from '../daemon-servers.ts';
import { type DnsRecord, keyed, Ledger, type Records } from '../ledger.ts';
import { beginning, type HostLine, makeResolve, parseHosts, readHosts } from './hosts-file.ts';
import { HostsWriter } from './hosts-writer.ts';
import { mergeHosts, removeHosts, removeWritten } from './merge.ts';
import { checkHolders, isOwnLine, type NameOrder } from './own-lines.ts';

export const nameSettings = Type.Object({
  server: setting(ServerName, 'server that has the hosts file and DNS, where several servers share a database', {
    defaultText: 'this server',
  }),
  hostsFile: setting(Path, 'hosts file to read and write', {
    default: '/etc/hosts',
    variable: 'MUSTER_HOSTS_FILE',
  }),
  lookup: setting(Switch, 'whether to resolve the names of nodes without an address outside the hosts file too', {
    default: true,
    variable: 'MUSTER_NAME_LOOKUP',
  }),
});
type NameSettings = ValuesOf<typeof nameSettings>;

export interface HostsOptions {
  /** Which name comes first; undefined: as the site attribute FQDNfirst says. */
  readonly order: NameOrder | undefined;
  readonly longOthers: boolean;
  /** Drops all lines but the management node's own. */
  readonly fresh: boolean;
  /** A named node without an address or a domain is an error, not only a message. */
  readonly failsOnNodesLeftOut?: boolean | undefined;
}

/** What is written when nobody says more. */
export const asSiteSays: HostsOptions = { order: undefined, longOthers: false, fresh: false };

/** The nodes' names and addresses in the hosts file. */
export class Hosts {
  readonly #settings: NameSettings;
  readonly #writer: HostsWriter;
  /** What was asked for later, and so knows later definitions, is written later. */
  readonly #turns = new Turns();
  /** Which lines were written for which node: a name with its address, as a record of DNS has them. */
  readonly #ledger: Ledger;

  constructor(settings: NameSettings, data: string) {
    this.#settings = settings;
    this.#writer = new HostsWriter(settings.hostsFile);
    this.#ledger = new Ledger(join(data, 'hosts-lines.jsonl'));
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
    const refused = new RefusedNodes();
    const found = await hostEntries(snapshot, asked, this.resolve(), refused);
    const own = managementNode(snapshot);
    const reader = effectiveReader(snapshot);
    const set = new Set(asked);
    const format = { order: options.order ?? siteOrder(snapshot), longOthers: options.longOthers };
    let warnings: readonly string[] = [];
    await this.#ledger.set(this.#withOlder(recordsByNode(asked, found.entries)));
    await this.#writer.update((lines) => {
      const kept = options.fresh ? ownOnly(lines, own) : lines;
      checkHolders(reader, kept, found.entries, set, refused);
      const merged = mergeHosts(kept, found.entries, own, format, refused);
      warnings = merged.warnings;
      return merged.text;
    });
    const served = asked.filter((node) => !refused.has(node));
    await this.#ledger.set(recordsByNode(served, found.entries));
    if (options.fresh) await this.#strike([...this.#ledger.owners()].filter((node) => !set.has(node)));
    if (!nodes) refuseInvalid(found, refused);
    // Whoever reads what failed reads nothing else.
    if (options.failsOnNodesLeftOut || refused.size > 0)
      for (const { node, sentence } of found.leftOut) if (!refused.has(node)) refused.refuse(node, [sentence]);
    refused.tell();
    return [...found.warnings, ...warnings];
  }

  /** Before a line is written it is noted beside those it may take the place of. */
  #withOlder(written: ReadonlyMap<string, Records>): Map<string, Records> {
    return new Map([...written].map(([node, lines]) => [node, new Map([...this.#ledger.of(node), ...lines])]));
  }

  remove(snapshot: Snapshot, nodes: readonly string[]): Promise<void> {
    const reader = effectiveReader(snapshot);
    const named = nodes.flatMap((node) =>
      interfacesOf(reader, node).map(({ name, ip }) => ({ name, ip: parseIp(ip ?? '') })),
    );
    const own = managementNode(snapshot);
    return this.#turns.take(async () => {
      await this.#writer.update((lines) => removeHosts(lines, [...named, ...this.#written(nodes)], own));
      await this.#strike(nodes);
    });
  }

  /** Whether lines were written for the node that nobody has taken out since. */
  hasLines(node: string): boolean {
    return this.#ledger.of(node).size > 0;
  }

  /** Takes out what was written for nodes that are defined no more. */
  removeUndefined(snapshot: Snapshot): Promise<void> {
    return this.#turns.take(async () => {
      const gone = [...this.#ledger.owners()].filter((node) => !snapshot.get('nodelist', node));
      if (gone.length === 0) return;
      const own = managementNode(snapshot);
      await this.#writer.update((lines) => removeWritten(lines, this.#written(gone), own));
      await this.#strike(gone);
    });
  }

  /** The lines written for the nodes, but for those that another node has by now. */
  #written(nodes: readonly string[]) {
    const set = new Set(nodes);
    return nodes
      .flatMap((node) => [...this.#ledger.of(node).values()])
      .filter(({ name, data }) =>
        this.#ledger.named(name).every(({ owner, record }) => set.has(owner) || record.data !== data),
      )
      .map(({ name, data }) => ({ name, ip: parseIp(data) }));
  }

  #strike(nodes: readonly string[]): Promise<void> {
    return this.#ledger.set(new Map(nodes.map((node) => [node, new Map()])));
  }
}

function recordsByNode(nodes: readonly string[], entries: readonly HostEntry[]): Map<string, Records> {
  const byNode = Map.groupBy(entries, ({ node }) => node);
  const record = ({ short, ip }: HostEntry): DnsRecord => ({
    name: short,
    type: ip.family === 4 ? 'A' : 'AAAA',
    data: ipText(ip),
  });
  return new Map(nodes.map((node) => [node, keyed((byNode.get(node) ?? []).map(record))]));
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
function refuseInvalid({ leftOut }: HostEntries, refused: RefusedNodes): void {
  for (const { node, ip } of leftOut)
    if (ip !== undefined) refused.refuse(node, [`Invalid IP Addr '${ip}' for node '${node}'.`]);
}
