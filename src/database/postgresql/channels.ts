import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import { metaTable } from '../own-tables.ts';
import type { ServerKey } from '../sealing.ts';

/** The channels on which the servers of a database call each other. */
export interface Channels {
  /** Every commit, with the sequence of its last change set. */
  readonly changes: string;
  /** What servers announce. */
  readonly announcements: string;
}

export const channelsMarker = 'channels';

/**
 * Everybody who may connect to a database may send and hear on its channels, without any other right. So their names have a part that is
 * made of something in muster's tables and of the key of its servers: whoever only reads the tables cannot end runs or lock accounts.
 */
export async function channelsOf(client: Pick<ClientBase, 'query'>, key?: Pick<ServerKey, 'mac'>): Promise<Channels> {
  await client.query(`insert into ${metaTable} (name, value) values ($1, $2) on conflict do nothing`, [
    channelsMarker,
    randomBytes(16).toString('hex'),
  ]);
  const { rows } = await client.query<{ value: string }>(`select value from ${metaTable} where name = $1`, [
    channelsMarker,
  ]);
  const stored = rows[0]!.value;
  const secret = key ? key.mac(`channels ${stored}`).slice(0, 32) : stored;
  return { changes: `muster_changes_${secret}`, announcements: `muster_announcements_${secret}` };
}
