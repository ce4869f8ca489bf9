import { expect, test } from 'vitest';
import { NodeStatus } from '../../src/services/node-status.ts';
import { memoryStore } from '../harness/store.ts';

test('whoever flushes waits for what is being written already', async () => {
  const cluster = await memoryStore();
  try {
    await cluster.put(['nodelist', { node: 'n1', groups: 'all' }], ['nodelist', { node: 'n2', groups: 'all' }]);
    const status = new NodeStatus(cluster.store, (error) => {
      throw error;
    });
    status.note('n1', 'powering-on');
    void status.flush();
    await status.flush();
    expect(cluster.current.get('nodelist', 'n1')?.['status']).toBe('powering-on');
    status.note('n1', 'powering-off');
    void status.flush();
    status.note('n2', 'powering-on');
    await status.flush();
    const shown = ['n1', 'n2'].map((node) => cluster.current.get('nodelist', node)?.['status']);
    expect(shown).toEqual(['powering-off', 'powering-on']);
  } finally {
    await cluster.close();
  }
});
