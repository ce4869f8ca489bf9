import { formatListen } from '../../core/host-address.ts';
import type { Logger } from '../../core/log.ts';
import { Turns } from '../../core/waiting.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { OwnedRecords } from './cluster-records.ts';
import type { Layout } from './layout.ts';
import { type DnsRecord, type Ledger, recordKey, type Records } from '../ledger.ts';
import { namedOptions } from './named-conf.ts';
import { Named } from './named.ts';
import { storageFault } from './sender.ts';
import { Updater } from './updater.ts';
import { type Authority, nextSerial, renderZone } from './zone-file.ts';
import { zoneOf, type Zones } from './zones.ts';

export interface Contents {
  readonly authority: Authority;
  readonly owned: OwnedRecords;
}

/** The name server on this machine: set up as a whole, updated node by node, never both at once. */
export class LocalServer {
  readonly layout: Layout;
  readonly #log: Logger;
  readonly #named: Named;
  readonly ledger: Ledger;
  readonly #turns = new Turns();
  #updater: Updater | undefined;

  constructor(layout: Layout, log: Logger, ledger: Ledger) {
    this.layout = layout;
    this.#log = log;
    this.#named = new Named(layout, log);
    this.ledger = ledger;
  }

  readonly updater = (): Updater =>
    (this.#updater ??= new Updater(
      this.#named.clients(),
      this.ledger,
      this.#turns,
      `named at ${formatListen(this.layout.server)}`,
    ));

  get isSetUp(): boolean {
    return this.#named.isSetUp;
  }

  /** Where a name is: also in a zone that is the site's no more, but is served until the next set-up. */
  zoneFinder({ names }: Zones): (name: string) => string | undefined {
    const all = new Set([...names, ...this.#named.zones()]);
    return (name) => zoneOf(all, name);
  }

  secondary(snapshot: Snapshot, master: string | undefined): ReturnType<Named['secondary']> {
    return this.#named.secondary(snapshot, master);
  }

  resume(): void {
    this.#turns
      .take(() => this.#named.resume())
      .catch((error: unknown) => this.#log.error({ err: error }, 'the name server could not be started'));
  }

  isServing(): Promise<boolean | undefined> {
    return this.#named.isServing();
  }

  close(): Promise<void> {
    return this.#turns.take(() => this.#named.close());
  }

  /** `contents` is asked when no update is under way any more: what was added before must be in it. */
  setUp(snapshot: Snapshot, zones: Zones, contents: () => Promise<Contents>): Promise<void> {
    const work = async (): Promise<void> => {
      const named = this.#named;
      const options = namedOptions(snapshot, this.layout);
      const { authority, owned } = await contents();
      named.prepare();
      const serials = new Map<string, number>();
      const today = new Date();
      for (const zone of zones.names) serials.set(zone, nextSerial(today, await named.serialOf(zone)));
      // Noted before they are served, as with every record; what is no longer served is struck out afterwards.
      await this.ledger.set(joined(owned, this.ledger));
      await named.apply(options, zoneTexts(zones, serials, authority, owned), serials);
      this.ledger.replace(owned);
    };
    return this.#turns.take(() =>
      work().catch((error: unknown) => {
        throw storageFault(error);
      }),
    );
  }
}

function joined(owned: OwnedRecords, ledger: Ledger): Map<string, Records> {
  const all = new Map<string, Records>();
  for (const [owner, records] of owned) all.set(owner, new Map([...ledger.of(owner), ...records]));
  return all;
}

function zoneTexts(
  zones: Zones,
  serials: ReadonlyMap<string, number>,
  authority: Authority,
  owned: OwnedRecords,
): Map<string, string> {
  const contents = new Map<string, Map<string, DnsRecord>>([...zones.names].map((zone) => [zone, new Map()]));
  for (const records of owned.values()) {
    for (const record of records.values()) {
      const zone = zoneOf(zones.names, record.name);
      if (zone !== undefined) contents.get(zone)!.set(recordKey(record), record);
    }
  }
  const own = zoneOf(zones.names, authority.name);
  return new Map(
    [...contents].map(([zone, records]) => {
      if (zone === own) records.delete(recordKey(authority.address));
      return [zone, renderZone(zone, serials.get(zone)!, authority, zone === own, [...records.values()])];
    }),
  );
}
