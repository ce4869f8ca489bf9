import { expect, test } from 'vitest';
import { NodeStatus, statusTime } from '../../src/nodes/node-status.ts';
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

test('a time is told as the reference system tells it', () => {
  expect(statusTime(new Date(2026, 0, 2, 3, 4, 5))).toBe('01-02-2026 03:04:05');
});

test('where the site wants no notes, what was looked at on purpose is kept all the same', async () => {
  const cluster = await memoryStore();
  try {
    await cluster.put(
      ['nodelist', { node: 'n1', groups: 'all' }],
      ['nodelist', { node: 'n2', groups: 'all' }],
      ['site', { key: 'nodestatus', value: 'n' }],
    );
    const status = new NodeStatus(cluster.store, (error) => {
      throw error;
    });
    status.note('n1', 'powering-on');
    status.keep('n2', 'alive', 'sshd=up');
    await status.flush();
    const time = expect.stringMatching(/^\d\d-\d\d-\d{4} \d\d:\d\d:\d\d$/) as string;
    expect(cluster.rows('nodelist')).toEqual([
      { node: 'n1', groups: 'all' },
      { node: 'n2', groups: 'all', status: 'alive', statustime: time, appstatus: 'sshd=up', appstatustime: time },
    ]);
  } finally {
    await cluster.close();
  }
});

test('an update that ended with the service has failed, and others stay what they were', async () => {
  const cluster = await memoryStore();
  try {
    const states = { n1: 'syncing', n2: 'synced', n3: '' };
    for (const [node, updatestatus] of Object.entries(states))
      await cluster.put(['nodelist', { node, groups: 'all', updatestatus, updatestatustime: 'then' }]);
    const status = new NodeStatus(cluster.store, (error) => {
      throw error;
    });
    await status.resume();
    const shown = Object.keys(states).map((node) => cluster.current.get('nodelist', node)?.['updatestatus'] ?? '');
    expect(shown).toEqual(['failed', 'synced', '']);
    expect(cluster.current.get('nodelist', 'n1')?.['updatestatustime']).not.toBe('then');
    expect(cluster.current.get('nodelist', 'n2')?.['updatestatustime']).toBe('then');
  } finally {
    await cluster.close();
  }
});
