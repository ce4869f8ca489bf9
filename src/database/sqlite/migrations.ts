import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { auditColumns } from '../audit-queue.ts';
import { tableNamed, tables } from '../tables.ts';
import { auditTable, clientType } from './audit-log.ts';
import { type AnyDatabase, journalTable, metaTable, ordinalColumn, removedTable, sequenceTable } from './statements.ts';

/** Steps that bring an older database to this program's form; never edited once released, only added to. */
const migrations: Readonly<Record<string, Migration>> = {
  '0001-journal': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema
        .createTable(journalTable)
        .addColumn('revision', 'integer', (column) => column.notNull())
        .addColumn('part', 'integer', (column) => column.notNull())
        .addColumn('time', 'integer', (column) => column.notNull())
        .addColumn('user', 'text', (column) => column.notNull())
        .addColumn('client', 'text', (column) => column.notNull())
        .addColumn('command', 'text', (column) => column.notNull())
        .addColumn('run', 'text', (column) => column.notNull())
        .addColumn('changes', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint(`${journalTable}_key`, ['revision', 'part'] as never[])
        .execute();
      await db.schema
        .createTable(metaTable)
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('value', 'text', (column) => column.notNull())
        .execute();
      await db.insertInto(metaTable).values({ name: 'revision', value: '0' }).execute();
    },
  },
  '0002-audit-blocks': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema
        .createTable(auditTable)
        .addColumn('first', 'integer', (column) => column.primaryKey())
        .addColumn('count', 'integer', (column) => column.notNull())
        .addColumn('until', 'integer', (column) => column.notNull())
        .addColumn('records', 'text', (column) => column.notNull())
        .execute();
      await takeOverAuditRows(db);
      await createAuditView(db);
    },
  },
  '0003-sequence': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema
        .createTable(sequenceTable)
        .addColumn('sequence', 'integer', (column) => column.primaryKey())
        .addColumn('total', 'integer', (column) => column.notNull())
        .addColumn('revision', 'integer')
        .addColumn('changes', 'text')
        .execute();
    },
  },
  '0004-reverts': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema.alterTable(journalTable).addColumn('reverts', 'integer').execute();
    },
  },
  '0005-removed': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema
        .createTable(removedTable)
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('key', 'text', (column) => column.notNull())
        .addColumn('time', 'integer', (column) => column.notNull())
        .addColumn('ordinal', 'integer')
        .addPrimaryKeyConstraint(`${removedTable}_key`, ['name', 'key'] as never[])
        .modifyEnd(sql`without rowid`)
        .execute();
    },
  },
};

/** The audit log was a table of one row per record. */
async function takeOverAuditRows(db: Kysely<AnyDatabase>): Promise<void> {
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
  await db
    .insertInto(metaTable)
    .values({ name: 'audit', value: String(first) })
    .execute();
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

export async function migrate(db: Kysely<AnyDatabase>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const known = await migrator.getMigrations().catch(() => []);
  const applied = await appliedMigrations(db);
  const unknown = applied.filter((name) => !known.some((migration) => migration.name === name));
  if (unknown.length > 0) {
    throw new Error(
      `The database was written by a newer muster (it has the step ${unknown.join(', ')}). Start that version, or restore a backup made by this one.`,
    );
  }
  const { error } = await migrator.migrateToLatest();
  if (error) throw new Error('The database could not be brought up to this version.', { cause: error });
  await db.transaction().execute(createMissingTables);
}

async function appliedMigrations(db: Kysely<AnyDatabase>): Promise<string[]> {
  const names = (await db.introspection.getTables({ withInternalKyselyTables: true })).map((table) => table.name);
  if (!names.includes('kysely_migration')) return [];
  const rows = await db.selectFrom('kysely_migration').select('name').execute();
  return rows.map((row) => String(row['name']));
}

/** The tables are data (tables.json): what that data has gained since the database was made is added here. */
async function createMissingTables(db: Kysely<AnyDatabase>): Promise<void> {
  const present = new Map((await db.introspection.getTables()).map((table) => [table.name, table.columns]));
  for (const table of tables.values()) {
    const columns = present.get(table.name);
    if (table.name === 'auditlog') continue;
    if (columns) {
      for (const column of table.columns) {
        if (columns.some((existing) => existing.name === column)) continue;
        await db.schema.alterTable(table.name).addColumn(column, 'text').execute();
      }
      if (!table.log && !columns.some(({ name }) => name === ordinalColumn))
        await db.schema.alterTable(table.name).addColumn(ordinalColumn, 'integer').execute();
      continue;
    }
    let creation = db.schema.createTable(table.name);
    for (const column of table.columns) {
      if (table.log && column === table.keys[0]) {
        creation = creation.addColumn(column, 'integer', (definition) => definition.primaryKey().autoIncrement());
      } else if (table.keys.includes(column)) {
        creation = creation.addColumn(column, 'text', (definition) => definition.notNull().defaultTo(''));
      } else creation = creation.addColumn(column, 'text');
    }
    if (!table.log) {
      creation = creation
        .addColumn(ordinalColumn, 'integer')
        .addPrimaryKeyConstraint(`${table.name}_key`, table.keys as never[])
        .modifyEnd(sql`without rowid`);
    }
    await creation.execute();
  }
}
