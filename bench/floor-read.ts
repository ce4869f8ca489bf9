/** Reads every row of every table of a muster database and does nothing with it. Argument: the database file. */
import Sqlite from 'better-sqlite3';

const database = new Sqlite(process.argv[2] ?? '', { readonly: true });
const began = performance.now();
const tables = database
  .prepare(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like 'muster_%'",
  )
  .pluck()
  .all() as string[];
let rows = 0;
for (const table of tables) {
  const reading = database.prepare(`select * from "${table}"`).raw().iterate();
  while (!reading.next().done) rows++;
}
console.log(JSON.stringify({ rows, milliseconds: performance.now() - began }));
