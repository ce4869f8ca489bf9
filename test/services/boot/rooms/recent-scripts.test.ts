import { afterEach, expect, it, vi } from 'vitest';
import { Snapshot } from '../../../../src/database/snapshot.ts';
import { RecentScripts } from '../../../../src/services/boot/rooms/recent-scripts.ts';

afterEach(() => void vi.useRealTimers());

it('scripts are kept for a moment only, and with them the database that they were made of', async () => {
  vi.useFakeTimers({ now: 0 });
  const recent = new RecentScripts();
  const get = (key: string) =>
    recent.get(key, Snapshot.empty, () => Promise.resolve({ kind: 'text', text: key, node: key, step: 'script' }));
  const first = get('n1');
  for (let index = 2; index <= 20; index++) await get(`n${index}`);
  expect(get('n1')).toBe(first);
  expect(recent.size).toBe(20);
  vi.setSystemTime(5_000);
  await get('n21');
  expect(recent.size).toBe(1);
});
