import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { Client } from 'pg';

/** The URL of a PostgreSQL server, where tests run on that instead of SQLite; its database is for making others. */
const server = process.env['MUSTER_TEST_ON'] === 'postgresql' ? process.env['MUSTER_TEST_POSTGRESQL'] : undefined;

export const onPostgres = server !== undefined;

const nameOf = (data: string): string => `t${createHash('sha256').update(data).digest('hex').slice(0, 24)}`;

function urlOf(name: string): string {
  const url = new URL(server!);
  url.pathname = `/${name}`;
  return url.href;
}

/** What a query on the database of a data directory answers, by another program. */
export function queryPostgres(data: string, sql: string): Record<string, unknown>[] {
  const text = `select coalesce(json_agg(found), '[]') from (${sql}) as found`;
  return JSON.parse(execFileSync('psql', [urlOf(nameOf(data)), '-Atqc', text], { encoding: 'utf8' }));
}

/** The URL of the database that belongs to a data directory, made if there is none; undefined where tests run on SQLite. */
export async function databaseOf(data: string): Promise<string | undefined> {
  if (server === undefined) return undefined;
  const name = nameOf(data);
  const client = new Client(server);
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
  return urlOf(name);
}
