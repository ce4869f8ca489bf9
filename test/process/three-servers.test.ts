import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { capture, mismatch, readExchanges, send, type Variables } from '../harness/exchanges.ts';
import { type Rows, resetTo } from '../harness/reset.ts';
import { exitOf, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

let postgres: Postgres;
let servers: TestServer[] = [];

/** Starts a server on the database, also one that was there before. */
const start = (data: string) => startServer({ environment: { MUSTER_DATABASE: postgres.url }, data });

beforeAll(async () => {
  postgres = await makePostgres('muster');
  const first = await start(temporaryDirectory());
  const others = [1, 2].map(() => {
    const data = temporaryDirectory();
    cpSync(join(first.data, 'secret.key'), join(data, 'secret.key'));
    return start(data);
  });
  servers = [first, ...(await Promise.all(others))];
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await postgres?.remove();
});

describe('one of three servers answers as the reference system does while the others write', () => {
  const over = new AbortController();
  let written = 0;
  let writing: Promise<unknown>[] = [];
  beforeAll(() => {
    writing = servers.slice(1).map(async (server, i) => {
      for (let value = 0; !over.signal.aborted; value++) {
        await server.ok('PUT', `/tables/monsetting/rows/name=m${i},key=k`, { value: String(value) });
        written++;
      }
    });
  });
  afterAll(async () => {
    over.abort();
    await Promise.all(writing);
    expect(written).toBeGreaterThan(10);
  });

  // All that need no simulated hardware: hardware and ipmi run in test/hardware.
  describe.each([
    'auth',
    'nodes',
    'noderange',
    'osimages',
    'policy',
    'globalconf',
    'tables',
    'names',
    'services',
    'remote',
    'updating',
  ])('%s', (name) => {
    const variables: Variables = {};
    beforeAll(() => resetTo(servers[0]!, readExchanges<Rows>('baseline')));

    it.each(readExchanges(name).map((exchange) => [exchange.id, exchange.note, exchange] as const))(
      '%s %s',
      async (_id, _note, exchange) => {
        const reply = await send(servers[0]!.client, exchange, variables);
        expect(mismatch(exchange, reply)).toBeUndefined();
        capture(exchange, reply, variables);
      },
    );
  });
});

const writers = 24;
const writesOfEach = 125;

/** One writer changes one node, a value after another, each at another server. */
interface Node {
  readonly name: string;
  /** The last value that a server said it had written, and the last that one was asked to write. */
  acknowledged: number;
  asked: number;
}

/** Undefined if there was no answer, or one that says that it is to be asked again. */
async function tryTo(server: TestServer, node: Node): Promise<string | undefined> {
  try {
    const reply = await server.call('PUT', `/nodes/${node.name}`, { body: { usercomment: String(node.asked) } });
    if (reply.status === 200) return String(reply.headers['x-muster-revision']);
    if (reply.status !== 503) throw new Error(`${reply.status} ${reply.text}`);
  } catch (error) {
    if (!isCut(error)) throw error;
  }
  await pause(100);
  return undefined;
}

const isCut = (error: unknown): boolean => /ECONN|socket|closed|EPIPE/i.test(String(error));

/** What a server shows of a node that another one has written; undefined if it is away. */
async function shownAt(server: TestServer, { name }: Node, revision: string): Promise<number | undefined> {
  try {
    const reply = await server.call('GET', `/nodes/${name}`, { headers: { 'x-muster-revision': revision } });
    return reply.status === 200 ? Number(reply.json[name].usercomment) : undefined;
  } catch (error) {
    if (!isCut(error)) throw error;
    return undefined;
  }
}

describe('3,000 writes over three servers, one killed and the database restarted in the middle', () => {
  const nodes: Node[] = Array.from({ length: writers }, (_, i) => ({ name: `w${i + 1}`, acknowledged: 0, asked: 0 }));
  const stale: string[] = [];
  const acknowledged = () => nodes.reduce((sum, node) => sum + node.acknowledged, 0);

  async function write(node: Node, first: number): Promise<void> {
    for (let turn = first; node.acknowledged < writesOfEach; turn++) {
      node.asked = node.acknowledged + 1;
      const revision = await tryTo(servers[turn % 3]!, node);
      if (revision === undefined) continue;
      node.acknowledged = node.asked;
      const shown = await shownAt(servers[(turn + 1) % 3]!, node, revision);
      if (shown !== undefined && shown !== node.acknowledged)
        stale.push(`${node.name}: ${node.acknowledged} was acknowledged, another server shows ${shown}`);
    }
  }

  async function disturb(): Promise<void> {
    await expect.poll(acknowledged, { timeout: 60_000 }).toBeGreaterThan((writers * writesOfEach) / 3);
    const [, killed] = servers;
    killed!.child.kill('SIGKILL');
    await exitOf(killed!.child);
    killed!.client.close();
    servers[1] = await start(killed!.data);
    await expect.poll(acknowledged, { timeout: 60_000 }).toBeGreaterThan((2 * writers * writesOfEach) / 3);
    await postgres.kill();
    await postgres.start();
  }

  it('lose nothing that was acknowledged and show nothing old as new', async () => {
    await servers[0]!.ok('POST', `/nodes/w1-w${writers}`, { groups: 'all', usercomment: '0' });
    await Promise.all([...nodes.map(write), disturb()]);
    expect(stale).toEqual([]);
    // What was written last may have been written at another server.
    const shown = async (): Promise<string[]> => {
      const all = await servers[0]!.ok('GET', `/nodes/w1-w${writers}`);
      return nodes.map(({ name }) => all[name].usercomment);
    };
    await expect.poll(shown).toEqual(nodes.map(() => String(writesOfEach)));
  }, 180_000);

  it('leave all servers with the same', async () => {
    const { headers } = await servers[0]!.call('PUT', '/nodes/w1', { body: { usercomment: 'last' } });
    const revision = String(headers['x-muster-revision']);
    const read = (server: TestServer) =>
      server.call('GET', '/nodes/ALLRESOURCES', { headers: { 'x-muster-revision': revision } });
    const [first, ...others] = await Promise.all(servers.map(read));
    expect(first!.json.w1.usercomment).toBe('last');
    for (const other of others) expect(other.text).toBe(first!.text);
  });
});
