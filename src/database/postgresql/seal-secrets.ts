import type { Client } from 'pg';
import { auditTable, journalTable, metaTable } from '../own-tables.ts';
import { auditTexts, journalText, namingTables, sealedMarker, Sealer, type Sealing } from '../sealing.ts';
import { secretNamesDigest } from '../secret-columns.ts';
import type { Row, Table } from '../tables.ts';

/** As for SQLite: done once for every list of names. Answers which values of today it sealed, as `site.apitoken`. */
export async function sealSecrets(client: Client, sealing: Sealing): Promise<string[]> {
  const done = await client.query<{ value: string }>(`select value from ${metaTable} where name = $1`, [sealedMarker]);
  if (done.rows[0]?.value === secretNamesDigest) return [];
  const found: string[] = [];
  await client.query('begin');
  // Nobody writes meanwhile.
  await client.query(`select 1 from ${metaTable} where name = 'revision' for update`);
  const sealer = new Sealer(sealing);
  for (const table of namingTables) found.push(...(await sealTable(client, sealer, table)));
  for (const table of namingTables) await sealLogs(client, sealer, table);
  await client.query(
    `insert into ${metaTable} (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
    [sealedMarker, secretNamesDigest],
  );
  await client.query('commit');
  return found;
}

async function sealTable(client: Client, sealer: Sealer, table: Table): Promise<string[]> {
  const found: string[] = [];
  const { rows } = await client.query<Row>(`select * from "${table.name}"`);
  for (const row of rows) {
    const sealed = sealer.row(table, row);
    if (!sealed) continue;
    found.push(sealed.name);
    const set = sealed.columns.map((column, i) => `"${column}" = $${i + 1}`).join(', ');
    const where = table.keys.map((column, i) => `"${column}" = $${sealed.columns.length + i + 1}`).join(' and ');
    const keys = table.keys.map((column) => row[column]);
    await client.query(`update "${table.name}" set ${set} where ${where}`, [...sealed.values, ...keys]);
  }
  return found;
}

async function sealLogs(client: Client, sealer: Sealer, table: Table): Promise<void> {
  const entries = await client.query<{ revision: number; part: number; changes: string }>(
    `select revision, part, changes from ${journalTable} where position($1 in changes) > 0`,
    [journalText(table)],
  );
  for (const { revision, part, changes } of entries.rows) {
    const sealed = sealer.journal(table, changes);
    if (sealed === changes) continue;
    const text = `update ${journalTable} set changes = $1 where revision = $2 and part = $3`;
    await client.query(text, [sealed, revision, part]);
  }
  for (const text of auditTexts(table)) {
    const blocks = await client.query<{ first: number; records: string }>(
      `select first, records from ${auditTable} where position($1 in records) > 0`,
      [text],
    );
    for (const { first, records } of blocks.rows)
      await client.query(`update ${auditTable} set records = $1 where first = $2`, [
        sealer.audit(table, text, records),
        first,
      ]);
  }
}
