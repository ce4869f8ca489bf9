import { makePostgres } from '../lab/postgres.ts';

/** One PostgreSQL server for all tests that run on it; each has databases of its own there. */
export default async function start(): Promise<() => Promise<void>> {
  const postgres = await makePostgres('tests');
  process.env['MUSTER_TEST_POSTGRESQL'] = postgres.url;
  return () => postgres.remove();
}
