/**
 * The least a durable write can cost: prepared statements on a table like nodetype, 1,000 rows updated in one transaction and in one
 * transaction a row. Arguments: the database file, how often each is done. Prints the milliseconds of each time.
 */
import Sqlite from 'better-sqlite3';
import { nodeName } from './cluster.ts';

const [file = '', togetherRounds, eachRounds] = process.argv.slice(2);
const database = new Sqlite(file);
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec('create table nodetype (node text primary key, os text, arch text, profile text) without rowid');
const insert = database.prepare('insert into nodetype values (?, ?, ?, ?)');
const update = database.prepare('update nodetype set os = ? where node = ?');
const names = Array.from({ length: 1_000 }, (_, i) => nodeName(i + 1));
database.transaction(() => names.map((name) => insert.run(name, 'rhels9.4', 'x86_64', 'compute')))();

let serial = 0;
function timed(rounds: number, work: (value: string) => unknown): number[] {
  return Array.from({ length: rounds }, () => {
    const began = performance.now();
    work(`os${++serial}`);
    return performance.now() - began;
  });
}

const updateAll = database.transaction((value: string) => names.map((name) => update.run(value, name)));
const updateEach = (value: string): unknown => names.map((name) => update.run(value, name));
console.log(
  JSON.stringify({ together: timed(Number(togetherRounds), updateAll), each: timed(Number(eachRounds), updateEach) }),
);
