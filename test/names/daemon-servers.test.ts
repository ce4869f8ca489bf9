import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SecretBox } from '../../src/access/secrets.ts';
import { Fault } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { PostgresDatabase } from '../../src/database/postgresql/postgresql.ts';
import { Questions } from '../../src/database/questions.ts';
import { Store } from '../../src/database/store.ts';
import { DaemonServers } from '../../src/names/daemon-servers.ts';
import { answerForDhcp, DhcpElsewhere } from '../../src/names/dhcp/node-dhcp.ts';
import { scratchDirectory, testOrigin } from '../harness/store.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

let postgres: Postgres;
/** mn1 has DHCP, mn2 asks it. */
let servers: { readonly store: Store; readonly questions: Questions; readonly daemons: DaemonServers }[];
let dhcp: DhcpElsewhere;
const names = ['mn1', 'mn2'];

async function openServer(name: string, box: SecretBox) {
  const store = await Store.open(await PostgresDatabase.open({ url: postgres.url }));
  const known = names.map((one) => ({ id: one, name: one }));
  const peers = { id: name, name, isAlive: () => Promise.resolve(true), list: () => Promise.resolve(known as never[]) };
  const { shared } = store.database;
  const questions = new Questions({ shared, servers: peers, seal: box, log: createLog('silent') });
  const daemons = new DaemonServers({ names: 'mn1', dhcp: 'mn1' }, { store, servers: peers, questions });
  return { store, questions, daemons };
}

beforeAll(async () => {
  postgres = await makePostgres('daemons');
  const box = SecretBox.open(join(scratchDirectory(), 'secret.key'));
  servers = [];
  for (const name of names) servers.push(await openServer(name, box));
  dhcp = new DhcpElsewhere(servers[1]!.daemons, servers[1]!.store);
});
afterAll(async () => {
  await Promise.all((servers ?? []).map(({ questions }) => questions.close()));
  await Promise.all((servers ?? []).map(({ store }) => store.close()));
  await postgres?.remove();
});

it('an order of another version is refused, and nothing is done', async () => {
  const [{ daemons, store }, { questions }] = servers as [(typeof servers)[0], (typeof servers)[0]];
  answerForDhcp(dhcp, daemons, store);
  const asked = questions.ask('mn1', 'dhcp.reserve', { revision: 0, order: { nodes: 'n1' } });
  await expect(asked).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'The servers are of different versions. Upgrade all of them, then send the request again.',
    nothingDone: true,
  });
});

it.each<[string, unknown, () => Promise<unknown>]>([
  ['dhcp.configured', 'yes', () => dhcp.wasConfigured()],
  ['dhcp.reserve', { messages: [] }, () => dhcp.reserve(servers[1]!.store.current, ['n1'], testOrigin)],
  ['dhcp.release', 1, () => dhcp.release(['n1'], testOrigin)],
  ['dhcp.answered', [['52:54:00:00:00:01', 'today']], () => dhcp.answered(new Set(['52:54:00:00:00:01']))],
  ['dhcp.firmware', null, () => dhcp.gaveToFirmware('10.0.0.1', new Date())],
])('an answer of another version to %s is a Fault that names the server', async (topic, answer, ask) => {
  servers[0]!.questions.answer(topic, () => Promise.resolve({ revision: 0, answer }));
  const error = await ask().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Fault);
  // It may have been done.
  expect(error).toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/^Server mn1, which has DHCP, is of another version/),
    nothingDone: false,
  });
});
