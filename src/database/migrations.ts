import { type ColumnDefinitionBuilder, type CreateTableBuilder, type Kysely, type RawBuilder, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { type Form, formMarker, formOf, formParts, formPartsMarker, refuseUnknown } from './form.ts';
import { tables } from './tables.ts';
import {
  type AnyDatabase,
  auditTable,
  journalTable,
  metaTable,
  ordinalColumn,
  removedTable,
  sequenceTable,
  sharedTable,
} from './own-tables.ts';

/** What one kind of database says in another way than the others. */
export interface SchemaDialect {
  /** The type of numbers. */
  readonly integer: 'integer' | 'bigint';
  /** The type of keys, which are ordered by bytes. */
  readonly key: 'text' | RawBuilder<unknown>;
  /** What follows the columns of a table whose rows lie in the order of their keys. */
  readonly inKeyOrder: RawBuilder<unknown> | undefined;
  /** Makes a column count up by itself. */
  countsUp(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder;
  /** Takes over an audit log of an earlier form; resolves with the number of the next record. */
  takeOverAudit(db: Kysely<AnyDatabase>): Promise<number>;
  /** Makes the view that shows the records of the audit log as rows. */
  createAuditView(db: Kysely<AnyDatabase>): Promise<void>;
}

/** Steps that bring an older database to this program's form; never edited once released, only added to. */
const migrations = (dialect: SchemaDialect): Readonly<Record<string, Migration>> => ({
  '0001-journal': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema
        .createTable(journalTable)
        .addColumn('revision', dialect.integer, (column) => column.notNull())
        .addColumn('part', dialect.integer, (column) => column.notNull())
        .addColumn('time', dialect.integer, (column) => column.notNull())
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
        .addColumn('first', dialect.integer, (column) => column.primaryKey())
        .addColumn('count', dialect.integer, (column) => column.notNull())
        .addColumn('until', dialect.integer, (column) => column.notNull())
        .addColumn('records', 'text', (column) => column.notNull())
        .execute();
      const value = String(await dialect.takeOverAudit(db));
      await db.insertInto(metaTable).values({ name: 'audit', value }).execute();
      await dialect.createAuditView(db);
    },
  },
  '0003-sequence': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema
        .createTable(sequenceTable)
        .addColumn('sequence', dialect.integer, (column) => column.primaryKey())
        .addColumn('total', dialect.integer, (column) => column.notNull())
        .addColumn('revision', dialect.integer)
        .addColumn('changes', 'text')
        .execute();
    },
  },
  '0004-reverts': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema.alterTable(journalTable).addColumn('reverts', dialect.integer).execute();
    },
  },
  '0005-removed': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema
        .createTable(removedTable)
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('key', 'text', (column) => column.notNull())
        .addColumn('time', dialect.integer, (column) => column.notNull())
        .addColumn('ordinal', dialect.integer)
        .addPrimaryKeyConstraint(`${removedTable}_key`, ['name', 'key'] as never[])
        .$call((creation) => inKeyOrder(creation, dialect))
        .execute();
    },
  },
  '0006-fence': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema.alterTable(sequenceTable).addColumn('fence', dialect.integer).execute();
      await sql`update ${sql.table(sequenceTable)} set fence = sequence`.execute(db);
    },
  },
  '0007-shared': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema
        .createTable(sharedTable)
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('holder', 'text', (column) => column.notNull())
        .addColumn('body', 'text', (column) => column.notNull())
        .addColumn('made', dialect.integer, (column) => column.notNull())
        .addColumn('until', dialect.integer, (column) => column.notNull())
        .addPrimaryKeyConstraint(`${sharedTable}_key`, ['kind', 'name'] as never[])
        .execute();
      await db.schema.createIndex(`${sharedTable}_made`).on(sharedTable).columns(['kind', 'made']).execute();
    },
  },
  '0008-shared-about': {
    async up(db: Kysely<AnyDatabase>) {
      await db.schema.alterTable(sharedTable).addColumn('about', 'text').execute();
      await db.schema.createIndex(`${sharedTable}_about`).on(sharedTable).columns(['kind', 'about', 'made']).execute();
    },
  },
});

const inKeyOrder = <Table extends string, Column extends string>(
  creation: CreateTableBuilder<Table, Column>,
  { inKeyOrder: end }: SchemaDialect,
): CreateTableBuilder<Table, Column> => (end ? creation.modifyEnd(end) : creation);

/** Brings a database to this program's form, and answers that. `save` is waited for before one that holds data is changed. */
export async function migrate(
  db: Kysely<AnyDatabase>,
  dialect: SchemaDialect,
  save: () => Promise<void> | void = () => undefined,
): Promise<Form> {
  const steps = migrations(dialect);
  const migrator = new Migrator({ db, provider: { getMigrations: async () => steps } });
  const parts = formParts(Object.keys(steps));
  const { applied, stored, found } = await foundForm(db);
  refuseUnknown([...applied.map((step) => `step ${step}`), ...stored], parts);
  const own = formOf(parts);
  if (applied.length > 0 && found !== own) await save();
  const { error } = await migrator.migrateToLatest();
  if (error) throw new Error('The database could not be brought up to this version.', { cause: error });
  await db.transaction().execute((transaction) => createMissingTables(transaction, dialect));
  return { own, parts, found };
}

interface FoundForm {
  /** Steps that were done. */
  readonly applied: readonly string[];
  /** What was noted, if anything was. */
  readonly stored: readonly string[];
  readonly found: string | undefined;
}

async function foundForm(db: Kysely<AnyDatabase>): Promise<FoundForm> {
  const names = (await db.introspection.getTables({ withInternalKyselyTables: true })).map((table) => table.name);
  if (!names.includes('kysely_migration')) return { applied: [], stored: [], found: undefined };
  const steps = await db.selectFrom('kysely_migration').select('name').execute();
  const applied = steps.map((row) => String(row['name']));
  if (!names.includes(metaTable)) return { applied, stored: [], found: undefined };
  const noted = async (name: string): Promise<string | undefined> => {
    const row = await db.selectFrom(metaTable).select('value').where('name', '=', name).executeTakeFirst();
    return row && String(row['value']);
  };
  return { applied, stored: (await noted(formPartsMarker))?.split('\n') ?? [], found: await noted(formMarker) };
}

/** Notes the form: programs that know less of it do not start any more, or do not go on. */
export async function noteForm(db: Kysely<AnyDatabase>, { own, parts, found }: Form): Promise<void> {
  if (found === own) return;
  await db
    .insertInto(metaTable)
    .values([
      { name: formMarker, value: own },
      { name: formPartsMarker, value: parts.join('\n') },
    ])
    .onConflict((conflict) => conflict.column('name').doUpdateSet(({ ref }) => ({ value: ref('excluded.value') })))
    .execute();
}

/** The tables are data (tables.json): what that data has gained since the database was made is added here. */
async function createMissingTables(db: Kysely<AnyDatabase>, dialect: SchemaDialect): Promise<void> {
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
        await db.schema.alterTable(table.name).addColumn(ordinalColumn, dialect.integer).execute();
      continue;
    }
    let creation = db.schema.createTable(table.name);
    for (const column of table.columns) {
      if (table.log && column === table.keys[0]) {
        creation = creation.addColumn(column, dialect.integer, (definition) =>
          dialect.countsUp(definition.primaryKey()),
        );
      } else if (table.keys.includes(column)) {
        creation = creation.addColumn(column, dialect.key, (definition) => definition.notNull().defaultTo(''));
      } else creation = creation.addColumn(column, 'text');
    }
    if (!table.log) {
      creation = creation
        .addColumn(ordinalColumn, dialect.integer)
        .addPrimaryKeyConstraint(`${table.name}_key`, table.keys as never[])
        .$call((each) => inKeyOrder(each, dialect));
    }
    await creation.execute();
  }
}
