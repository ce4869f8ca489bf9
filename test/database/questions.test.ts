import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { SecretBox } from '../../src/access/secrets.ts';
import { followReservations } from '../../src/boot/prepare-boot.ts';
import { Fault } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { PostgresDatabase } from '../../src/database/postgresql/postgresql.ts';
import { Questions, Unanswered } from '../../src/database/questions.ts';
import { DaemonServers } from '../../src/names/daemon-servers.ts';
import { DhcpElsewhere } from '../../src/names/dhcp/node-dhcp.ts';
import { memoryStore, scratchDirectory, testOrigin } from '../harness/store.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

let postgres: Postgres;
let databases: PostgresDatabase[];
const box = SecretBox.open(join(scratchDirectory(), 'secret.key'));
const log = createLog('silent');
const times = { look: 200, take: 1_000, away: 2_000 };
const alive = new Set(['asks', 'answers']);
let opened: Questions[] = [];

const open = (id: string, which: number, seal: SecretBox = box): Questions => {
  const servers = { id, isAlive: (other: string) => Promise.resolve(alive.has(other)) };
  const questions = new Questions({ shared: databases[which]!.shared, servers, seal, log }, times);
  opened.push(questions);
  return questions;
};
const records = (): string =>
  postgres.query("select kind from muster_shared where kind <> 'question-turn' order by kind");
const turns = (): string => postgres.query("select holder from muster_shared where kind = 'question-turn'");

beforeAll(async () => {
  postgres = await makePostgres('questions');
  databases = await Promise.all([1, 2].map(() => PostgresDatabase.open({ url: postgres.url })));
  for (const database of databases) database.watch(() => undefined);
});
afterEach(async () => {
  await Promise.all(opened.map((questions) => questions.close()));
  opened = [];
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await postgres.remove();
});

test('a question is answered once, nobody can read it in the database, and nothing stays of it', async () => {
  const [asker, answerer] = [open('asks', 0), open('answers', 1)];
  let seen = '';
  let count = 0;
  answerer.answer('greeting', async (body) => {
    count++;
    seen = postgres.query("select body from muster_shared where kind = 'question'");
    // Whoever asks calls again meanwhile, and would give up a question that was not taken.
    await pause(6 * times.look);
    return { to: body, secret: 'open sesame' };
  });
  expect(await asker.ask('answers', 'greeting', 'a secret word')).toEqual({
    to: 'a secret word',
    secret: 'open sesame',
  });
  expect([count, seen]).toEqual([1, expect.stringMatching(/^\{m1\}[\w-]+$/)]);
  await expect.poll(() => records() + turns()).toBe('');
});

test('a question that is announced once more after its answer is not carried out again', async () => {
  const [asker, answerer] = [open('asks', 0), open('answers', 1)];
  let count = 0;
  answerer.answer('order', () => {
    count++;
    postgres.query("create table if not exists asked as select * from muster_shared where kind = 'question'");
    return Promise.resolve(count);
  });
  expect(await asker.ask('answers', 'order', {})).toBe(1);
  await expect.poll(() => records() + turns()).toBe('');
  // As it is for whoever could not read the answer, and calls again.
  postgres.query('insert into muster_shared select * from asked');
  const id = postgres.query('select name from asked');
  const heard: string[] = [];
  const end = databases[0]!.shared.hear(({ kind, name }) => heard.push(`${kind} ${name}`));
  await databases[0]!.shared.announce({ kind: 'question', name: `answers ${id}`, holder: 'asks' });
  await expect.poll(() => heard).toContain(`answer asks ${id}`);
  end();
  expect(count).toBe(1);
  await databases[0]!.shared.remove('question', [id]);
});

test('what the other server refuses is refused here in the same words', async () => {
  const [asker, answerer] = [open('asks', 0), open('answers', 1)];
  answerer.answer('refusal', () => {
    throw new Fault('denied', ['No.', 'Ask root.'], { retryAfter: 3, missing: ['n1'], reference: ['Error: No.'] });
  });
  const error = await asker.ask('answers', 'refusal', {}).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Fault);
  expect(error).toMatchObject({
    kind: 'denied',
    sentences: ['No.', 'Ask root.'],
    retryAfter: 3,
    missing: ['n1'],
    reference: ['Error: No.'],
    nothingDone: false,
  });
});

test('a question that nobody takes is given up, and is not taken later', async () => {
  const asker = open('asks', 0);
  alive.add('sleeps');
  const asked = asker.ask('sleeps', 'greeting', {}).catch((reason: unknown) => reason);
  await expect.poll(() => postgres.query('select count(*) from muster_shared')).toBe('1');
  postgres.query('create table kept as select * from muster_shared');
  const error = await asked;
  expect(error).toBeInstanceOf(Unanswered);
  expect(error).toMatchObject({ nothingDone: true });
  const sleeper = open('sleeps', 1);
  const taken: unknown[] = [];
  sleeper.answer('greeting', (body) => Promise.resolve(taken.push(body)));
  await expect.poll(records).toBe('');
  postgres.query('insert into muster_shared select * from kept');
  const name = `sleeps ${postgres.query('select name from kept')}`;
  await databases[0]!.shared.announce({ kind: 'question', name, holder: 'asks' });
  // What is asked later is answered later.
  await asker.ask('sleeps', 'greeting', 'the next');
  expect(taken).toEqual(['the next']);
});

test('a boot state is set, and the error says what became of its reservation, if the server with DHCP is gone', async () => {
  const [asker, answerer] = [open('asks', 0), open('mn1-id', 1)];
  const { store, close } = await memoryStore();
  const server = { id: 'mn1-id', name: 'mn1', version: '1', since: '', listens: [], jobs: 0, nodes: 0 };
  let there = [server];
  const servers = { name: 'mn2', list: () => Promise.resolve(there) };
  const daemons = new DaemonServers({ names: undefined, dhcp: 'mn1' }, { store, servers, questions: asker });
  answerer.answer('dhcp.configured', () => Promise.resolve({ revision: 0, answer: true }));
  for (const topic of ['dhcp.reserve', 'dhcp.release'])
    answerer.answer(topic, async () => {
      alive.delete('mn1-id');
      await pause(3 * times.look);
    });
  const dhcp = new DhcpElsewhere(daemons, store);
  const failure = async (isOffline: boolean): Promise<string | undefined> => {
    alive.add('mn1-id');
    return (await followReservations(dhcp, store.current, ['n1'], isOffline, testOrigin)).get('n1')?.message;
  };
  const doubt =
    'Server mn1, which has DHCP, gave no answer: it stopped before it answered. GET /tables/dhcphost/rows lists the reservations. GET /servers lists the servers that are connected.';
  expect([await failure(false), await failure(true)]).toEqual([
    `The state is set, but it is not known whether its DHCP reservation is. ${doubt}`,
    `The state is set, but it is not known whether its DHCP reservation was removed. ${doubt}`,
  ]);
  there = [];
  const away =
    'Server mn1, which has DHCP (setting dhcp.server), is not connected. GET /servers lists the servers that are.';
  expect([await failure(false), await failure(true)]).toEqual([
    `The state is set, but not its DHCP reservation. ${away}`,
    `The state is set, but its DHCP reservation was not removed. ${away}`,
  ]);
  await close();
});

test('if the server is gone that took it, it may have been done', async () => {
  const [asker, answerer] = [open('asks', 0), open('dies', 1)];
  alive.add('dies');
  answerer.answer('slow', async () => {
    alive.delete('dies');
    await pause(1_000);
  });
  const error = await asker.ask('dies', 'slow', {}).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Unanswered);
  expect(error).toMatchObject({ nothingDone: false });
});

test('a server that stops does not wait for answers', async () => {
  const asker = open('asks', 0);
  const asked = asker.ask('answers', 'greeting', {}).catch((reason: unknown) => reason);
  await asker.close();
  expect(await asked).toMatchObject({ nothingDone: false });
});

test('whoever leaves does not wait for the answer', async () => {
  const [asker, answerer] = [open('asks', 0), open('answers', 1)];
  const leaving = new AbortController();
  answerer.answer('left', () => {
    leaving.abort(new Fault('invalid', 'gone'));
    return pause(1_000);
  });
  await expect(asker.ask('answers', 'left', {}, leaving.signal)).rejects.toThrow('gone');
});

test('what was written with another key is not answered', async () => {
  const stranger = open('strange', 0, SecretBox.open(join(scratchDirectory(), 'secret.key')));
  const answerer = open('answers', 1);
  let isAsked = false;
  answerer.answer('greeting', () => Promise.resolve((isAsked = true)));
  await expect(stranger.ask('answers', 'greeting', {})).rejects.toBeInstanceOf(Unanswered);
  expect(isAsked).toBe(false);
});
