/**
 * The least a durable write can cost: prepared statements on a table like nodetype. Arguments: the database file; prints a line
 * for every line it is sent: `one` updates 1,000 rows in one transaction, `each` in one transaction a row.
 */
import Sqlite from 'better-sqlite3';
import { createInterface } from 'node:readline';
import { nodeName } from './cluster.ts';

const rows = 1_000;
const database = new Sqlite(process.argv[2] ?? '');
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec('create table nodetype (node text primary key, os text, arch text, profile text) without rowid');
const insert = database.prepare('insert into nodetype values (?, ?, ?, ?)');
const update = database.prepare('update nodetype set os = ? where node = ?');
const names = Array.from({ length: rows }, (_, i) => nodeName(i + 1));
database.transaction(() => names.map((name) => insert.run(name, 'rhels9.4', 'x86_64', 'compute')))();
const together = database.transaction((value: string) => names.map((name) => update.run(value, name)));
console.log('ready');
let serial = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const value = `os${++serial}`;
  const began = performance.now();
  if (line === 'one') together(value);
  else for (const name of names) update.run(value, name);
  console.log(performance.now() - began);
}
