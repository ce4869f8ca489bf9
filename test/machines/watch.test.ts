import { expect, test } from 'vitest';
import type { Logger } from '../../src/core/log.ts';
import type { HypervisorListener, ListedMachine } from '../../src/core/hypervisor-listener.ts';
import { MachineWatch } from '../../src/machines/watch.ts';
import { memoryStore } from '../harness/store.ts';

const patience = { timeout: 30_000, interval: 20 };

test('a hypervisor with any number of machines fills no memory, and nodes are looked at all the same', async () => {
  const cluster = await memoryStore();
  const listeners = new Map<string, HypervisorListener>();
  const notices: (readonly string[])[] = [];
  const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger;
  const watch = new MachineWatch({
    store: cluster.store,
    status: { note: () => undefined },
    events: { power: () => undefined, notice: (nodes) => notices.push(nodes) },
    log: quiet,
    mgt: 'kvm',
    hypervisors: {
      follow(host, listener) {
        listeners.set(host, listener);
        return () => listeners.delete(host);
      },
    },
  });
  try {
    await cluster.put(
      ...['n1', 'n2'].flatMap((node) => [
        ['nodelist', { node, groups: 'all' }] as const,
        ['nodehm', { node, mgt: 'kvm' }] as const,
        ['vm', { node, host: 'home' }] as const,
      ]),
      ['hypervisor', { node: 'hostile', type: 'kvm' }],
      ['nodelist', { node: 'hostile', groups: 'all' }],
    );
    watch.resume();
    await expect.poll(() => [...listeners.keys()].sort(), patience).toEqual(['home', 'hostile']);
    const strangers = Array.from({ length: 100_000 }, (_, i) => ({ name: `x${i}`, uuid: `u${i}`, isOn: true }));
    const nodes: ListedMachine[] = ['n1', 'n2'].map((name) => ({ name, uuid: `u-${name}`, isOn: false }));
    listeners.get('home')!.listed('place of home', nodes);
    const hostile = listeners.get('hostile')!;
    hostile.listed('place of hostile', [...strangers, ...nodes.map((node) => ({ ...node, isOn: true }))]);
    expect(['n1', 'x1', 'x99999', 'new'].map((name) => hostile.wants(name))).toEqual([true, true, false, false]);
    await expect.poll(() => notices, patience).toEqual([['n1', 'n2']]);
    expect(cluster.rows('vm')).toEqual([
      { node: 'n1', host: 'home' },
      { node: 'n2', host: 'home' },
    ]);
  } finally {
    watch.close();
    await cluster.close();
  }
});
