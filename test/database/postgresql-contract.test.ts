import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { PostgresDatabase } from '../../src/database/postgresql/postgresql.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';
import { databaseContract } from './contract.ts';

let postgres: Postgres;
beforeAll(async () => {
  postgres = await makePostgres('contract');
});
afterAll(() => postgres?.remove());

databaseContract('PostgreSQL', async () => {
  const name = `c${randomBytes(6).toString('hex')}`;
  postgres.query(`create database ${name}`);
  const url = postgres.url.replace('/contract?', `/${name}?`);
  return {
    open: () => PostgresDatabase.open({ url }),
    remove: async () => void postgres.query(`drop database ${name}`),
  };
});
