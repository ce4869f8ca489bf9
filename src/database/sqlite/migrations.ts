import { type Kysely, sql } from 'kysely';
import { clientType } from '../audit-blocks.ts';
import { auditColumns } from '../audit-queue.ts';
import type { SchemaDialect } from '../migrations.ts';
import { type AnyDatabase, auditTable } from '../own-tables.ts';
import { tableNamed } from '../tables.ts';

/** The audit log was a table of one row per record. */
async function takeOverAuditRows(db: Kysely<AnyDatabase>): Promise<number> {
  let first = 1;
  const present = await db.introspection.getTables();
  if (present.some(({ name }) => name === 'auditlog')) {
    const texts = sql.join(auditColumns.slice(1).map((column) => sql.ref(column)));
    await sql`insert into ${sql.table(auditTable)} (first, count, until, records)
      select recid, 1, time, json_array(json_array(time, ${texts}))
      from (select *, cast(round((julianday(audittime) - 2440587.5) * 86400000) as integer) as time from auditlog)`.execute(
      db,
    );
    const latest = await sql<{ recid: number | null }>`select max(recid) as recid from auditlog`.execute(db);
    first += latest.rows[0]?.recid ?? 0;
    await db.schema.dropTable('auditlog').execute();
  }
  return first;
}

const timeText = sql`strftime('%Y-%m-%dT%H:%M:%S', (value ->> 0) / 1000, 'unixepoch') || printf('.%03dZ', (value ->> 0) % 1000)`;

/** Shows the records as the table that the reference system has. */
async function createAuditView(db: Kysely<AnyDatabase>): Promise<void> {
  const shown = tableNamed('auditlog').columns.map((column) => {
    const index = auditColumns.findIndex((name) => name === column);
    if (column === 'audittime') return sql`${timeText} as audittime`;
    if (index > 0) return sql`value ->> ${sql.lit(index)} as ${sql.ref(column)}`;
    if (column === 'recid') return sql`first + key as recid`;
    return sql`${column === 'clienttype' ? sql.lit(clientType) : sql.lit(null)} as ${sql.ref(column)}`;
  });
  await sql`create view auditlog as select ${sql.join(shown)}
    from ${sql.table(auditTable)}, json_each(records)`.execute(db);
}

export const sqliteSchema: SchemaDialect = {
  integer: 'integer',
  key: 'text',
  inKeyOrder: sql`without rowid`,
  countsUp: (column) => column.autoIncrement(),
  takeOverAudit: takeOverAuditRows,
  createAuditView,
};
