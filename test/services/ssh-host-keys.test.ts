import { afterEach, beforeEach, expect, it } from 'vitest';
import { SshHostKeys } from '../../src/services/ssh-host-keys.ts';
import { anonymousEntries } from '../harness/raw-sqlite.ts';
import { memoryStore, type TestStore } from '../harness/store.ts';

let test: TestStore;
let keys: SshHostKeys;
beforeEach(async () => {
  test = await memoryStore();
  keys = new SshHostKeys(test.store, 'first-use');
});
afterEach(() => test.close());

it('keeps the first key of a node in a table', async () => {
  expect(keys.known('n1')).toBeUndefined();
  await Promise.all([keys.learn('n1', 'ssh-ed25519 AAAA'), keys.learn('n1', 'ssh-ed25519 BBBB')]);
  expect(keys.known('n1')).toBe('ssh-ed25519 AAAA');
  expect(test.rows('sshhostkey')).toEqual([{ node: 'n1', hostkey: 'ssh-ed25519 AAAA' }]);
  expect(anonymousEntries(test.file)).toEqual([]);
});

it('takes keys as people write them', async () => {
  await test.put(['sshhostkey', { node: 'n2', hostkey: '  ssh-ed25519   CCCC  root@n2 ' }]);
  expect(keys.known('n2')).toBe('ssh-ed25519 CCCC');
});

it('tells how a key is forgotten and made known', () => {
  expect(keys.howToForget('n1')).toContain('DELETE /tables/sshhostkey/rows/node=n1');
  expect(keys.howToLearn('n1')).toContain('PUT /tables/sshhostkey/rows/node=n1');
});
