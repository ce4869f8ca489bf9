import { type Kysely, sql } from 'kysely';
import { clientType } from '../audit-blocks.ts';
import { auditColumns } from '../audit-queue.ts';
import type { SchemaDialect } from '../migrations.ts';
import { type AnyDatabase, auditTable } from '../own-tables.ts';
import { tableNamed } from '../tables.ts';

const timeText = sql`to_char(to_timestamp((value ->> 0)::numeric / 1000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Shows the records as the table that the reference system has. */
async function createAuditView(db: Kysely<AnyDatabase>): Promise<void> {
  const shown = tableNamed('auditlog').columns.map((column) => {
    const index = auditColumns.findIndex((name) => name === column);
    if (column === 'audittime') return sql`${timeText} as audittime`;
    if (index > 0) return sql`value ->> ${sql.lit(index)} as ${sql.ref(column)}`;
    if (column === 'recid') return sql`first + ordinality - 1 as recid`;
    return sql`${column === 'clienttype' ? sql.lit(clientType) : sql.lit(null)}::text as ${sql.ref(column)}`;
  });
  await sql`create view auditlog as select ${sql.join(shown)}
    from ${sql.table(auditTable)}, json_array_elements(records::json) with ordinality`.execute(db);
}

export const postgresSchema: SchemaDialect = {
  integer: 'bigint',
  key: sql`text collate "C"`,
  inKeyOrder: undefined,
  countsUp: (column) => column.generatedByDefaultAsIdentity(),
  // There was none before this one.
  takeOverAudit: () => Promise.resolve(1),
  createAuditView,
};
