import type { SecretBox } from '../../access/secrets.ts';
import type { AddressGuard } from '../../core/address-guard.ts';
import { cachedBy } from '../../core/cache.ts';
import { Fault, Unreachable } from '../../core/errors.ts';
import { ipText, parseIp } from '../../core/ip.ts';
import { limiter } from '../../core/limiter.ts';
import type { Logger } from '../../core/log.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { SortedMap } from '../../database/sorted-map.ts';
import { type Row, tableNamed } from '../../database/tables.ts';
import { effectiveReader, siteValue } from '../../objects/effective.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import type { Binding } from '../../protocols/snmp/message.ts';
import { type AccessNames, snmpAccess } from '../../protocols/snmp/access.ts';
import { type SnmpAgent, walk } from '../../protocols/snmp/session.ts';
import { numberOf } from '../../protocols/snmp/values.ts';
import type { Hosts } from '../../names/index.ts';
import { askNeighbours } from './lldp-neighbours.ts';
import type { Neighbour } from './machine.ts';
import { askSwitch, type FoundSwitch } from './switch-search.ts';

export interface SwitchSearch {
  readonly addresses: readonly string[];
  readonly method: 'snmp' | 'lldp';
}

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
const askedAtOnce = 256;

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

  /** The ports behind which the MAC addresses were seen. A switch that cannot be read is as good as none; the log says why. */
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

  /** The switches at these addresses, or those that they hear by LLDP, as far as they answer to the community of the site (`snmpc`). */
  async search(
    snapshot: Snapshot,
    { addresses, method }: SwitchSearch,
    signal: AbortSignal,
  ): Promise<readonly FoundSwitch[]> {
    const { box, guard, port = usualPort } = this.#services;
    const stored = siteValue(snapshot, 'snmpc') ?? '';
    const community = (stored && box.isSealed(stored) ? box.open(stored, 'site.value') : stored) || usualCommunity;
    const admitted = await Promise.all(addresses.map((address) => guard.admit(address)));
    const inTurn = limiter(askedAtOnce);
    const found = await Promise.all(
      admitted.map((address) =>
        inTurn(async () => {
          signal.throwIfAborted();
          const agent: SnmpAgent = { address, port, access: { version: '2c', community } };
          return unlessSilent<FoundSwitch | FoundSwitch[] | undefined>(
            method === 'lldp' ? askNeighbours(agent, signal) : askSwitch(agent, signal),
          );
        }),
      ),
    );
    const all = found.flatMap((each) => each ?? []);
    // Several switches may hear the same one.
    return method === 'snmp'
      ? all
      : [...new Map(all.map((each) => [each.mac || each.name || each.address, each])).values()];
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
    const { snmpversion, username, password, auth, privacy } = row;
    const secret = password ? box.open(password, 'switches.password') : undefined;
    const access = snmpAccess(
      {
        version: snmpversion,
        community: secret,
        user: username,
        authProtocol: opened(box, auth, 'switches.auth'),
        authPassword: secret,
        privProtocol: opened(box, privacy, 'switches.privacy'),
      },
      accessColumns,
      '2c',
    );
    const given = nodeAttribute(reader, name, 'ip') || name;
    const ip = parseIp(given) ?? (await hosts.resolve()(given));
    if (!ip) throw new Fault('invalid', `The switch ${name} has no known address.`);
    return { address: await guard.admit(ipText(ip)), port, access };
  }
}

const opened = (box: SecretBox, value: string | undefined, column: string): string | undefined =>
  value ? box.open(value, column) : undefined;

/** What table `switches` calls it: one passphrase serves for all. */
const accessColumns: AccessNames = {
  version: 'snmpversion',
  community: 'password',
  user: 'username',
  level: 'snmpversion',
  authProtocol: 'auth',
  authPassword: 'password',
  privProtocol: 'privacy',
  privPassword: 'password',
};

/** At most addresses there is nobody, or nobody who answers by SNMP. */
async function unlessSilent<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Unreachable || (error instanceof Fault && error.kind === 'garbled')) return undefined;
    throw error;
  }
}

/** The name of a switch without its domain, in lower case. */
export const switchName = (text: string): string => text.trim().toLowerCase().split('.', 1)[0]!;

/** A port as definitions write it: `GigabitEthernet1/0/3` and `Gi1/0/3` are the same. */
export function portName(text: string): string {
  const lower = text.trim().toLowerCase().replaceAll(/\s+/g, '');
  return lower.replace(/^[a-z]+(?=\d)/, (letters) => letters.slice(0, 2));
}

/**
 * What definitions may call a port that calls itself so. A number alone means it if nothing before it counts: `swp3`, `Gi1/0/3`, but not
 * `Gi2/0/3`, which is on another switch of a stack.
 */
export function namesOfPort(text: string): string[] {
  const [, before = '', number] = /^(?:[a-z]*)((?:[01][/.:])*)0*(\d+)$/.exec(portName(text)) ?? [];
  return [...new Set([portName(text), ...(number === undefined ? [] : [number, before + number])])];
}

/** RFC 4188 and RFC 4363: behind which port of the bridge a MAC address was seen, in all VLANs together or in each. */
const ports = [1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 2];
const portsByVlan = [1, 3, 6, 1, 2, 1, 17, 7, 1, 2, 2, 1, 2];
/** Which interface a port of the bridge is, and what that is called (RFC 2863). */
const interfaces = [1, 3, 6, 1, 2, 1, 17, 1, 4, 1, 2];
const interfaceNames = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];

/** The names of a switch's ports by the MAC addresses seen behind them. */
export async function readForwarding(agent: SnmpAgent, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const byVlan = await walk(agent, portsByVlan, signal);
  const rows = byVlan.length > 0 ? byVlan : await walk(agent, ports, signal);
  const interfaceOf = new Map((await walk(agent, interfaces, signal)).map((row) => [row.oid[0], numberOf(row)]));
  const nameOf = new Map(
    (await walk(agent, interfaceNames, signal)).map(({ oid, content }) => [oid[0], content.toString('latin1')]),
  );
  const found = new Map<string, string>();
  for (const row of rows) {
    const port = numberOf(row);
    const mac = macOf(row);
    // Port 0: it was learned in no way that names one.
    if (mac === undefined || !port) continue;
    found.set(mac, nameOf.get(interfaceOf.get(port)) || String(port));
  }
  return found;
}

/** The last six numbers of the name. */
function macOf({ oid }: Binding): string | undefined {
  const bytes = oid.slice(-6);
  if (bytes.length < 6 || bytes.some((byte) => byte > 255)) return undefined;
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}
