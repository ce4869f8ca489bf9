import { join } from 'node:path';
import { Draft } from '../src/database/draft.ts';
import { SqliteDatabase } from '../src/database/sqlite/sqlite.ts';
import { Store } from '../src/database/store.ts';
import type { Connection } from './client.ts';
import { nodeName } from './cluster.ts';
import { longestDelay, watchDelays } from './delays.ts';
import { atMost, type Benchmark, figure, median, type Row } from './report.ts';
import { dataWith, root, startMuster } from './server.ts';

const nodes = 10_000;
const entries = 100_000;
/** Moments that are asked for, and changes that are taken back. */
const rounds = 40;
/** Milliseconds that each may take. */
const limit = 100;

const origin = { user: 'root', client: '127.0.0.1', command: 'chdef', run: 'bench' };

/** Changes of one attribute of one node each. The first ones are of an attribute that nobody changes again. */
async function fillJournal(data: string): Promise<{ first: number; last: number }> {
  const store = await Store.open(await SqliteDatabase.open(join(data, 'muster.sqlite')));
  const first = store.current.revision + 1;
  for (let i = 0; i < entries; i++) {
    const node = nodeName(1 + ((i * 7919) % nodes));
    void store.change(origin, (head) => {
      const draft = new Draft(head);
      if (i < rounds) draft.merge('nodepos', node, { node, comments: `first ${i}` });
      else draft.merge('nodetype', node, { node, os: `os${i}` });
      return draft.changes();
    });
    if (i % 1_000 === 0) await store.flush();
  }
  await store.flush();
  const last = store.current.revision;
  await store.close();
  return { first, last };
}

const row = (what: string, time: number, bar = true): Row => ({
  what,
  muster: `${figure(time)} ms`,
  floor: bar ? `${limit} ms` : '',
  ratio: bar ? time / limit : undefined,
  bar: bar ? atMost(1) : undefined,
});

async function took(client: Connection, path: string, method = 'GET'): Promise<number> {
  return (await client.expect({ method, path: `${root}${path}` })).took;
}

/** How long it takes to look back, and to take back a change, with 100,000 changes in the journal of a cluster of 10,000 nodes. */
export const history: Benchmark = {
  name: 'history',
  async *rows() {
    const data = await dataWith(nodes);
    const { first, last } = await fillJournal(data);
    const muster = await startMuster({ data, node: watchDelays });
    const client = await muster.connect();
    // What the start took does not count.
    await longestDelay(muster);
    const node = nodeName(17);
    yield row(
      'the first look back after a start, over all 100,000 changes',
      await took(client, `/nodes/${node}?at=${first}`),
      false,
    );
    const moments = Array.from({ length: rounds }, (_, i) => first + ((i * 61_813) % (last - first)));
    const looks: number[] = [];
    for (const at of moments) looks.push(await took(client, `/nodes/${node}?at=${at}`));
    yield row('GET of one node ?at= another moment each, median', median(looks));
    yield row('  the slowest', Math.max(...looks));
    const all = await took(client, `/nodes/ALLRESOURCES?at=${moments[1]! + 1}`);
    yield row('GET of all nodes ?at= another moment', all, false);
    yield row('GET /changes?limit=100', await took(client, '/changes?limit=100'));
    yield row(
      'GET /changes?noderange= one node, all its changes',
      await took(client, `/changes?noderange=${node}`),
      false,
    );
    yield row(
      'GET /changes/diff of all 100,000',
      await took(client, `/changes/diff?from=${first}&noderange=${node}`),
      false,
    );
    const reverts: number[] = [];
    for (let i = 0; i < rounds; i++) reverts.push(await took(client, `/changes/${first + i}/revert`, 'POST'));
    yield row('POST /changes/ID/revert of the oldest changes, median', median(reverts));
    yield row('  the slowest', Math.max(...reverts));
    const delay = await longestDelay(muster);
    yield row('longest that the event loop was held up meanwhile', delay, false);
    client.close();
    await muster.stop();
  },
};
