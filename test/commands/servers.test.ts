import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WorkerEntry } from '../../src/bus/index.ts';
import { lsservers } from '../../src/commands/servers.ts';
import { answerOf, memoryStore, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore({});
  await cluster.put(
    ['site', { key: 'master', value: 'mn1.cluster' }],
    ['nodelist', { node: 'n1', groups: 'all' }],
    ['noderes', { node: 'n1', servicenode: 'mn1' }],
  );
});
afterAll(() => cluster.close());

const worker = (name: string, more: Partial<WorkerEntry> = {}): WorkerEntry => ({
  name,
  version: '1',
  host: name,
  since: 0,
  heard: 0,
  jobs: 0,
  nodes: 0,
  isConnected: true,
  serves: [],
  problem: undefined,
  ...more,
});

/** What is wrong with each of the workers, as the list says it. */
async function problems(...workers: WorkerEntry[]): Promise<Record<string, string | undefined>> {
  Object.assign(cluster.services, {
    servers: { listAll: async () => ({ servers: [], lost: [] }) },
    workers: { problem: undefined, list: () => workers, connected: () => undefined },
  });
  const { servers } = answerOf(await cluster.run(lsservers, {})) as {
    readonly servers: readonly { readonly name: string; readonly problem?: string }[];
  };
  return Object.fromEntries(servers.map(({ name, problem }) => [name, problem]));
}

describe('a worker with the name of the server', () => {
  it('is listed with the reason why it gets no work', async () => {
    const named = [hostname(), 'mn1', 'mn1.other', 'localhost'];
    const found = await problems(...named.map((name) => worker(name)));
    for (const name of named) expect(found[name]).toMatch(/^It has the name of this server\. .* with another name/);
  });

  it('keeps what else is wrong, and is not blamed for its name when it is gone', async () => {
    const found = await problems(worker('sn1'), worker('mn1', { isConnected: false, problem: 'It is gone.' }));
    expect(found).toEqual({ sn1: undefined, mn1: 'It is gone.' });
    expect((await problems(worker('mn1', { problem: 'It is old.' })))['mn1']).toMatch(/^It is old\. It has the name/);
  });
});
