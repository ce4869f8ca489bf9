import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Type } from 'typebox';
import { act, nodeArguments, noLine, selectNodes } from '../../src/commands/command.ts';
import { Fault } from '../../src/core/errors.ts';
import { tableNamed } from '../../src/database/tables.ts';
import { logRows } from '../../src/objects/table-access.ts';
import { memoryStore, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
let auditedBefore: string[];

beforeAll(async () => {
  cluster = await memoryStore({ audit: true });
  await cluster.put(['nodelist', { node: 'n1', groups: 'all' }], ['nodelist', { node: 'n2', groups: 'all' }]);
});
afterAll(() => cluster.close());

const statuses = async (): Promise<string[]> =>
  (await logRows(cluster.store, tableNamed('auditlog'), { command: 'touch' }, ['status'])).map((row) => row['status']!);

const touch = act({
  name: 'touch',
  args: Type.Object({ ...nodeArguments, fails: Type.Optional(Type.Boolean()) }),
  line: noLine,
  select: selectNodes,
  async run(_snapshot, { fails }, { selection }) {
    auditedBefore = await statuses();
    if (fails) throw new Fault('unavailable', 'The daemon is away.');
    return { shape: 'none', messages: [`${selection.nodes?.length} touched`] };
  },
});

describe('an act', () => {
  test('is in the audit log before it touches anything, and its run keeps what it said', async () => {
    const { run, answer } = await cluster.run(touch, { range: 'n1,n2' });
    expect(auditedBefore).toEqual(['Allowed']);
    expect(answer).toEqual({ shape: 'none', messages: ['2 touched'] });
    expect(cluster.services.runs.show(run.id, 'root', true)).toMatchObject({
      nodes: 2,
      ok: 2,
      failed: 0,
      messages: ['2 touched'],
      state: 'finished',
    });
  });

  test('that fails is noted as failed', async () => {
    await expect(cluster.run(touch, { range: 'n1', fails: true })).rejects.toThrow('away');
    expect((await statuses()).at(-1)).toBe('Failed');
  });

  test('of an unknown node or in a dry run touches nothing', async () => {
    auditedBefore = [];
    await expect(cluster.run(touch, { range: 'n1,n9' })).rejects.toThrow('n9');
    await expect(cluster.run(touch, { range: 'n1' }, { dryRun: true })).rejects.toThrow(
      'touch has no dry run, and nothing was done',
    );
    expect(auditedBefore).toEqual([]);
  });
});
