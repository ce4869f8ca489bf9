import type { SecretBox } from '../../../access/secrets.ts';
import type { AddressGuard } from '../../../core/address-guard.ts';
import { cachedBy } from '../../../core/cache.ts';
import { Fault } from '../../../core/errors.ts';
import { ipText, parseIp } from '../../../core/ip.ts';
import { limiter } from '../../../core/limiter.ts';
import type { Logger } from '../../../core/log.ts';
import type { Snapshot } from '../../../database/snapshot.ts';
import type { SortedMap } from '../../../database/sorted-map.ts';
import { type Row, tableNamed } from '../../../database/tables.ts';
import { effectiveReader } from '../../../objects/effective.ts';
import { nodeAttribute } from '../../../objects/node-attributes.ts';
import type { SnmpAgent } from '../../../protocols/snmp/walk.ts';
import type { Hosts } from '../../hosts/hosts.ts';
import { readForwarding } from './forwarding-table.ts';
import type { Neighbour } from './machine.ts';

export interface SwitchServices {
  readonly box: SecretBox;
  readonly hosts: Pick<Hosts, 'resolve'>;
  /** Where passwords may be sent. */
  readonly guard: AddressGuard;
  readonly log: Logger;
  /** Default 161. */
  readonly port?: number;
}

const switchesTable = tableNamed('switches');
const usualPort = 161;
const usualCommunity = 'public';
/** Milliseconds in which a table is read once, whoever asks; a machine that has just come is in the next. */
const fresh = 5_000;
const longest = 20_000;
const readAtOnce = 16;
const most = 512;

/** Of the switches that nodes are behind. */
const namesIn = cachedBy((rows: SortedMap<Row>): string[] =>
  [...new Set(rows.values().flatMap((row) => row['switch'] || []))].slice(0, most),
);

/** The switches that nodes are defined to be behind, asked by SNMP where machines are. */
export class Switches {
  readonly #services: SwitchServices;
  readonly #inTurn = limiter(readAtOnce);
  readonly #read = new Map<string, { readonly at: number; readonly table: Promise<ReadonlyMap<string, string>> }>();

  constructor(services: SwitchServices) {
    this.#services = services;
  }

  /** The ports behind which the MAC addresses were seen. A switch that cannot be read is as good as none; the log tells why. */
  async portsOf(snapshot: Snapshot, macs: readonly string[]): Promise<Neighbour[]> {
    const found = namesIn(snapshot.rows('switch')).map(async (chassis) => {
      const table = await this.#table(snapshot, chassis);
      return macs.flatMap((mac) => {
        const port = table.get(mac);
        return port === undefined ? [] : { interface: '', chassis, port };
      });
    });
    return (await Promise.all(found)).flat();
  }

  #table(snapshot: Snapshot, name: string): Promise<ReadonlyMap<string, string>> {
    const known = this.#read.get(name);
    if (known && Date.now() - known.at < fresh) return known.table;
    const table = this.#inTurn(() => this.#readTable(snapshot, name)).catch((error: unknown) => {
      this.#services.log.warn({ err: error, switch: name }, 'a switch cannot be asked where machines are');
      return new Map<string, string>();
    });
    this.#read.set(name, { at: Date.now(), table });
    return table;
  }

  async #readTable(snapshot: Snapshot, name: string): Promise<ReadonlyMap<string, string>> {
    const agent = await this.#agentOf(snapshot, name);
    return agent ? readForwarding(agent, AbortSignal.timeout(longest)) : new Map();
  }

  /** Undefined: table `switches` says nothing of it, so that it is not asked. */
  async #agentOf(snapshot: Snapshot, name: string): Promise<SnmpAgent | undefined> {
    const { box, hosts, guard, port = usualPort } = this.#services;
    const reader = effectiveReader(snapshot);
    const row = reader.row(switchesTable, name);
    if (!row) return undefined;
    const { snmpversion = '2', password } = row;
    if (/3/.test(snmpversion)) throw new Fault('invalid', `The switch ${name} has snmpversion 3; known is 2c.`);
    const community = password ? box.open(password, 'switches.password') : usualCommunity;
    const given = nodeAttribute(reader, name, 'ip') || name;
    const ip = parseIp(given) ?? (await hosts.resolve()(given));
    if (!ip) throw new Fault('invalid', `The switch ${name} has no known address.`);
    return { address: await guard.admit(ipText(ip)), port, community };
  }
}
