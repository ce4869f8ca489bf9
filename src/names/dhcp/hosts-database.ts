import { Pool, type PoolClient } from 'pg';
import { Fault } from '../../core/errors.ts';
import { parseIp } from '../../core/ip.ts';
import { type ServedSubnet, subnetOf } from './document.ts';
import { Refused } from './kea-server.ts';
import type { Reservation } from './reservations.ts';

/** A row of Kea's table `hosts` with its address in `ipv6_reservations`, as muster fills them. */
interface HostRow {
  readonly mac: string;
  readonly subnet4: number | null;
  readonly subnet6: number | null;
  readonly ip4: number | null;
  readonly ip6: string | null;
  readonly hostname: string | null;
  readonly classes: string | null;
  readonly next: number | null;
  readonly node: string;
}

const columns =
  'x(mac text, subnet4 bigint, subnet6 bigint, ip4 bigint, ip6 text, hostname text, classes text, next bigint, node text)';
const noSuchTable = '42P01';
const answerTimeout = 5_000;
/** Rows without this are somebody else's and stay. */
const ours = `user_context LIKE '{"muster":%'`;

/** Kea's PostgreSQL host table, which Kea reads with every request: what is written is served at once. */
export class HostsDatabase {
  readonly #pool: Pool;
  readonly #url: URL;
  #inDoubt = false;
  #lost: () => void = () => undefined;

  constructor(url: string) {
    this.#url = new URL(url);
    this.#pool = new Pool({
      connectionString: url,
      max: 1,
      connectionTimeoutMillis: answerTimeout,
      // It is kept, for its end shows that the database has ended.
      idleTimeoutMillis: 0,
      allowExitOnIdle: true,
    });
    this.#pool.on('error', () => {
      this.#inDoubt = true;
      this.#lost();
    });
  }

  /** What Kea's configuration says about it. */
  get keaParameters(): object {
    const { hostname, port, username, password, pathname, searchParams } = this.#url;
    return {
      type: 'postgresql',
      name: decodeURIComponent(pathname.slice(1)),
      host: searchParams.get('host') ?? hostname,
      ...(port && { port: Number(port) }),
      ...(username && { user: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      // Kea that served on would know no reservation, and give reserved machines addresses of the dynamic range. So it waits; muster
      // gives it a copy meanwhile.
      'on-fail': 'stop-retry-exit',
      'max-reconnect-tries': 1_000_000,
      'reconnect-wait-time': 1_000,
    };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** Calls back when its connection breaks. */
  whenLost(callback: () => void): void {
    this.#lost = callback;
  }

  /** Why it cannot be used now; undefined if it can. */
  async trouble(): Promise<DatabaseAway | undefined> {
    try {
      await this.#transaction(async (client) => {
        const question = { text: 'SELECT 1 FROM hosts LIMIT 1', query_timeout: answerTimeout };
        await client.query(question);
      });
      return undefined;
    } catch (error) {
      this.#inDoubt = true;
      if (error instanceof DatabaseAway) return error;
      throw error;
    }
  }

  /** The database was away meanwhile, and may have come back without what it was given last. */
  get inDoubt(): boolean {
    return this.#inDoubt;
  }

  /** Takes rows out and puts rows in, all or nothing. */
  change(
    removed: Iterable<Reservation>,
    added: Iterable<Reservation>,
    subnets: readonly ServedSubnet[],
  ): Promise<void> {
    return this.#transaction(async (client) => {
      await remove(client, hostRows(removed, subnets));
      await insert(client, hostRows(added, subnets));
    });
  }

  /** Makes muster's rows be exactly these. */
  async sync(all: Iterable<Reservation>, subnets: readonly ServedSubnet[]): Promise<void> {
    await this.#transaction(async (client) => {
      const wanted = new Map(hostRows(all, subnets).map((row) => [JSON.stringify(row), row]));
      const surplus: HostRow[] = [];
      for (const row of await stored(client)) if (!wanted.delete(JSON.stringify(row))) surplus.push(row);
      await remove(client, surplus);
      await insert(client, [...wanted.values()]);
    });
    this.#inDoubt = false;
  }

  async #transaction(work: (client: PoolClient) => Promise<void>): Promise<void> {
    let client: PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw new DatabaseAway((error as Error).message, error);
    }
    // A connection that breaks says so here too, besides in the statement that waits.
    const broken = (): void => undefined;
    client.on('error', broken);
    try {
      await client.query('BEGIN');
      await work(client);
      await client.query('COMMIT');
      client.off('error', broken);
      client.release();
    } catch (error) {
      // The connection may be gone; PostgreSQL rolls back what was not committed.
      client.release(true);
      // Errors of the statement have a class of five characters; those of the connection or a server that ends have others.
      const { code = '', detail = '' } = error as { code?: string; detail?: string };
      if (code === noSuchTable)
        throw new DatabaseAway(`${(error as Error).message}; "kea-admin db-init pgsql" makes Kea's tables`, error);
      if (/^(22|23|42)/.test(code))
        throw new Refused(
          `Kea's host table refuses it, and keeps what it has: ${[(error as Error).message, detail].join(' ').trim()}`,
        );
      throw new DatabaseAway((error as Error).message, error);
    }
  }
}

export class DatabaseAway extends Fault {
  constructor(reason: string, cause: unknown) {
    super('unavailable', `Kea's host table cannot be reached: ${reason}.`, { cause });
  }
}

/** Those whose address is in no subnet are left out, as in a configuration. */
function hostRows(reservations: Iterable<Reservation>, subnets: readonly ServedSubnet[]): HostRow[] {
  const rows = new Map<string, HostRow>();
  for (const { node, mac, ip, address, hostname, nextServer, loader } of reservations) {
    const subnet = ip && subnetOf(subnets, ip);
    if (ip && !subnet) continue;
    const family = ip?.family;
    const row: HostRow = {
      mac: mac.replaceAll(':', ''),
      subnet4: family === 6 ? null : (subnet?.id ?? 0),
      subnet6: family === 4 ? null : (subnet?.id ?? 0),
      ip4: ip && family === 4 ? Number(ip.value) : null,
      ip6: ip && family === 6 ? address : null,
      hostname: ip ? hostname : null,
      classes: ip ? (loader ?? null) : 'DROP',
      next: nextServer === undefined ? null : Number(parseIp(nextServer)!.value),
      node,
    };
    const key = `${row.mac} ${row.subnet4} ${row.subnet6}`;
    if (!rows.has(key)) rows.set(key, row);
  }
  return [...rows.values()];
}

async function stored(client: PoolClient): Promise<HostRow[]> {
  const { rows } = await client.query<{ row: HostRow }>(`
    SELECT json_build_object('mac', encode(h.dhcp_identifier, 'hex'), 'subnet4', h.dhcp4_subnet_id,
      'subnet6', h.dhcp6_subnet_id, 'ip4', h.ipv4_address, 'ip6', host(r.address::inet), 'hostname', h.hostname,
      'classes', h.dhcp4_client_classes, 'next', h.dhcp4_next_server, 'node', h.user_context::json->>'muster') AS row
    FROM hosts h LEFT JOIN ipv6_reservations r ON r.host_id = h.host_id WHERE h.${ours}`);
  return rows.map(({ row }) => row);
}

async function remove(client: PoolClient, rows: readonly HostRow[]): Promise<void> {
  if (rows.length === 0) return;
  await client.query(
    `DELETE FROM hosts h USING jsonb_to_recordset($1::jsonb) AS ${columns}
     WHERE h.dhcp_identifier = decode(x.mac, 'hex') AND h.dhcp_identifier_type = 0 AND h.${ours}
       AND (h.dhcp4_subnet_id = x.subnet4 OR h.dhcp6_subnet_id = x.subnet6)`,
    [JSON.stringify(rows)],
  );
}

async function insert(client: PoolClient, rows: readonly HostRow[]): Promise<void> {
  if (rows.length === 0) return;
  const values = [JSON.stringify(rows)];
  await client.query(
    `INSERT INTO hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id, dhcp6_subnet_id, ipv4_address, hostname,
       dhcp4_client_classes, dhcp6_client_classes, dhcp4_next_server, user_context)
     SELECT decode(x.mac, 'hex'), 0, x.subnet4, x.subnet6, x.ip4, x.hostname, x.classes, x.classes, x.next,
       '{"muster":' || to_json(x.node)::text || '}'
     FROM jsonb_to_recordset($1::jsonb) AS ${columns}`,
    values,
  );
  if (rows.every(({ ip6 }) => ip6 === null)) return;
  const { rows: types } = await client.query<{ type: string }>(
    `SELECT atttypid::regtype::text AS type FROM pg_attribute WHERE attrelid = 'ipv6_reservations'::regclass AND attname = 'address'`,
  );
  // Text in older versions of Kea, inet in newer ones.
  const type = types[0]?.type === 'inet' ? 'inet' : 'text';
  await client.query(
    `INSERT INTO ipv6_reservations (address, prefix_len, type, host_id)
     SELECT x.ip6::${type}, 128, 0, h.host_id FROM jsonb_to_recordset($1::jsonb) AS ${columns}
     JOIN hosts h ON h.dhcp_identifier = decode(x.mac, 'hex') AND h.dhcp_identifier_type = 0 AND h.dhcp6_subnet_id = x.subnet6
     WHERE x.ip6 IS NOT NULL`,
    values,
  );
}
