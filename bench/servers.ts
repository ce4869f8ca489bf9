import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { makePostgres, type Postgres } from '../test/lab/postgres.ts';
import type { Connection } from './client.ts';
import { nodeName, putCluster } from './cluster.ts';
import { processorTime } from './process.ts';
import { atLeast, atMost, type Benchmark, compare, figure, median, quantile, type Row } from './report.ts';
import { type Muster, newDirectory, root, startMuster } from './server.ts';

const nodes = 10_000;
const writes = 300;
const seconds = 4;

let serial = 0;
const change = (connection: Connection, node: string) =>
  connection.expect({ method: 'PUT', path: `${root}/nodes/${node}`, body: { os: `os${++serial}` } });

/** So many servers on one database with a cluster in it. */
async function startServers({ url }: Postgres, count: number, name: string): Promise<Muster[]> {
  const options = { env: { MUSTER_DATABASE: url.replace('/bare?', `/${name}?`) }, allCores: true };
  const first = await startMuster(options);
  const connection = await first.connect();
  await putCluster(connection, nodes);
  connection.close();
  const others = Array.from({ length: count - 1 }, async () => {
    const data = newDirectory();
    cpSync(join(first.data, 'secret.key'), join(data, 'secret.key'));
    return startMuster({ ...options, data });
  });
  return [first, ...(await Promise.all(others))];
}

/** What a write costs that does the least: the row, a journal entry and the number of the change, in prepared statements. */
async function bareWrites(postgres: Postgres): Promise<number[]> {
  const client = new Client(postgres.url);
  await client.connect();
  await client.query('create table bare_row (node text primary key, os text)');
  await client.query('create table bare_journal (revision bigint primary key, time bigint, changes text)');
  await client.query('create table bare_meta (name text primary key, value text)');
  await client.query("insert into bare_meta values ('revision', '0')");
  await client.query("insert into bare_row select 'n' || i, 'os' from generate_series(1, 10000) i");
  const statement = (name: string, text: string, values: readonly unknown[]) =>
    client.query({ name, text, values: [...values] });
  const took: number[] = [];
  for (let i = 1; i <= 2 * writes; i++) {
    const began = performance.now();
    await client.query('begin');
    await statement('meta', "update bare_meta set value = $1 where name = 'revision'", [String(i)]);
    await statement('row', 'update bare_row set os = $1 where node = $2', [`os${i}`, `n${i}`]);
    await statement('journal', 'insert into bare_journal values ($1, $2, $3)', [i, Date.now(), `{"os":"os${i}"}`]);
    await client.query('commit');
    if (i > writes) took.push(performance.now() - began);
  }
  await client.end();
  return took;
}

async function putTimes(connection: Connection): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < 2 * writes; i++) {
    const reply = await change(connection, nodeName(1 + (i % nodes)));
    if (i >= writes) took.push(reply.took);
  }
  return took;
}

/** Milliseconds from the reply of one server until another shows the value. */
async function delays(writer: Connection, reader: Connection): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < writes; i++) {
    const node = nodeName(1 + i);
    const value = `os${serial + 1}`;
    await change(writer, node);
    const began = performance.now();
    const isSeen = async (): Promise<boolean> => {
      const { body } = await reader.send({ path: `${root}/nodes/${node}/attrs/os`, keepBody: true });
      return body!.includes(`"${value}"`);
    };
    while (!(await isSeen()));
    found.push(performance.now() - began);
  }
  return found;
}

/** Readings of one node for each second of processor time that the server took: two cores do not hold three servers and a database. */
async function readRate(connection: Connection, { pid }: Muster): Promise<number> {
  const began = performance.now();
  const before = processorTime(pid);
  let count = 0;
  for (; performance.now() - began < seconds * 1_000; count++)
    await connection.send({ path: `${root}/nodes/${nodeName(1 + (count % nodes))}` });
  return (1_000 * count) / (processorTime(pid) - before);
}

/** The same while others write, as fast as people and scripts do: one after another, with a pause. */
async function readRateBeside(reader: Connection, server: Muster, writers: readonly Connection[]): Promise<number> {
  const over = new AbortController();
  const writing = writers.map(async (writer) => {
    while (!over.signal.aborted) {
      await change(writer, nodeName(1 + (serial % nodes)));
      await pause(10);
    }
  });
  const rate = await readRate(reader, server);
  over.abort();
  await Promise.all(writing);
  return rate;
}

async function putRow(postgres: Postgres): Promise<Row> {
  const [server] = await startServers(postgres, 1, 'one');
  const connection = await server!.connect();
  const puts = await putTimes(connection);
  connection.close();
  await server!.stop();
  const bare = median(await bareWrites(postgres));
  return compare('PUT of one node on PostgreSQL', median(puts), bare, 'ms', atMost(2.5), 'bare transaction');
}

async function* serverRows(postgres: Postgres): AsyncIterable<Row> {
  yield await putRow(postgres);
  const servers = await startServers(postgres, 3, 'three');
  const [first, second, third] = (await Promise.all(servers.map((server) => server.connect()))) as [
    Connection,
    Connection,
    Connection,
  ];
  const seen = quantile(await delays(first, second), 0.99);
  yield compare('A change at one server is seen at another, p99', seen, 100, 'ms', atMost(1), 'bar');
  await readRate(third, servers[2]!);
  const alone = await readRate(third, servers[2]!);
  const beside = await readRateBeside(third, servers[2]!, [first, second]);
  yield compare('GET of one node while two other servers write', beside, alone, '/CPU s', atLeast(0.8), 'without');
  for (const connection of [first, second, third]) connection.close();
  await Promise.all(servers.map((server) => server.stop()));
}

interface Written {
  readonly commits: number;
  /** Milliseconds that one commit of a hundred exceeded. */
  readonly slow: number;
}

/** What became of servers that all write as fast as they can. */
async function writeTogether(count: number): Promise<Written[]> {
  const postgres = await makePostgres('writers');
  const program = join(import.meta.dirname, 'writer.ts');
  const begun = Array.from({ length: count }, async (_, i) => {
    const child = spawn(process.execPath, [program, postgres.url, `s${i}`, '8', String(seconds)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = child.stdout.setEncoding('utf8').iterator() as AsyncIterableIterator<string>;
    await lines.next();
    return { child, lines };
  });
  const writers = await Promise.all(begun);
  for (const { child } of writers) child.stdin.write('\n');
  const results = await Promise.all(writers.map(async ({ lines }) => (await Array.fromAsync(lines)).join('')));
  await postgres.remove();
  return results.map((text) => JSON.parse(text) as Written);
}

async function* writerRows(): AsyncIterable<Row> {
  let ofOne = 0;
  for (const count of [1, 2, 4]) {
    const written = await writeTogether(count);
    const rates = written.map(({ commits }) => commits / seconds);
    const rate = rates.reduce((sum, each) => sum + each, 0);
    ofOne ||= rate;
    const what = count === 1 ? '8 writers at one server' : `8 writers at each of ${count} servers`;
    yield compare(`${what}, commits`, rate, ofOne, '/s', undefined, 'one');
    yield {
      what: '  the slowest server, against the fastest',
      muster: `${figure(Math.min(...rates))} /s`,
      floor: `${figure(Math.max(...rates))} /s`,
      ratio: Math.min(...rates) / Math.max(...rates),
      bar: count === 1 ? undefined : atLeast(0.5),
    };
    yield {
      what: '  a commit, p99',
      muster: `${figure(Math.max(...written.map(({ slow }) => slow)))} ms`,
      floor: '',
      ratio: undefined,
      bar: undefined,
    };
  }
}

/** Several servers on one PostgreSQL database. */
export const servers: Benchmark = {
  name: 'servers',
  async *rows() {
    const postgres = await makePostgres('bare');
    for (const name of ['one', 'three']) postgres.query(`create database ${name} owner kea`);
    yield* serverRows(postgres);
    await postgres.remove();
    yield* writerRows();
  },
};
