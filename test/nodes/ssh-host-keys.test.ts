import { afterEach, beforeEach, expect, it } from 'vitest';
import { ownOrigin } from '../../src/database/changeset.ts';
import { Draft } from '../../src/database/draft.ts';
import { endToken } from '../../src/boot/tokens.ts';
import { SshHostKeys } from '../../src/nodes/ssh-keys.ts';
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
  expect(keys.known('n1')).toEqual([]);
  await Promise.all([keys.learn('n1', 'ssh-ed25519 AAAA'), keys.learn('n1', 'ssh-ed25519 BBBB')]);
  expect(keys.known('n1')).toEqual(['ssh-ed25519 AAAA']);
  expect(test.rows('sshhostkey')).toEqual([{ node: 'n1', hostkey: 'ssh-ed25519 AAAA' }]);
  expect(anonymousEntries(test.file)).toEqual([]);
});

it('takes keys as people write them', async () => {
  await test.put(['sshhostkey', { node: 'n2', hostkey: '  ssh-ed25519   CCCC  root@n2 ' }]);
  expect(keys.known('n2')).toEqual(['ssh-ed25519 CCCC']);
});

it('tells how a key is forgotten and made known', () => {
  expect(keys.howToForget('n1')).toContain('DELETE /tables/sshhostkey/rows/node=n1');
  expect(keys.howToLearn('n1')).toContain('PUT /tables/sshhostkey/rows/node=n1');
});

/** It boots again. */
const boot = (node: string) =>
  test.store.change(ownOrigin('test'), (head) => {
    const draft = new Draft(head);
    endToken(draft, node);
    return draft.changes();
  });

it('replaces the key of a node that tells another one of its new system, once a boot, which the journal has', async () => {
  await test.put(['nodelist', { node: 'n1' }]);
  expect(await keys.report('n1', ['ssh-ed25519 AAAA', 'ssh-rsa BBBB'], false)).toBe(true);
  expect(await keys.report('n1', ['ssh-ed25519 CCCC'], false)).toBe(false);
  expect(keys.known('n1')).toEqual(['ssh-ed25519 AAAA']);
  await boot('n1');
  expect(await keys.report('n1', ['ssh-ed25519 CCCC'], false)).toBe(true);
  expect(keys.known('n1')).toEqual(['ssh-ed25519 CCCC']);
  // One that is still there stays.
  await boot('n1');
  await keys.report('n1', ['ssh-ed25519 AAAA', 'ssh-ed25519 CCCC'], false);
  expect(keys.known('n1')).toEqual(['ssh-ed25519 CCCC']);
  await keys.report('nosuch', ['ssh-ed25519 CCCC'], false);
  expect(keys.known('nosuch')).toEqual([]);
});

it('knows the key of what a node runs for one boot besides its own', async () => {
  await test.put(['nodelist', { node: 'n1' }], ['sshhostkey', { node: 'n1', hostkey: 'ssh-ed25519 AAAA' }]);
  await keys.report('n1', ['ssh-ed25519 BBBB'], true);
  expect(keys.known('n1')).toEqual(['ssh-ed25519 AAAA', 'ssh-ed25519 BBBB']);
  expect(test.rows('sshhostkey')).toEqual([{ node: 'n1', hostkey: 'ssh-ed25519 AAAA' }]);
});

it('believes no node where only keys count that people have put here', async () => {
  await test.put(['nodelist', { node: 'n1' }]);
  const strict = new SshHostKeys(test.store, 'strict');
  await strict.report('n1', ['ssh-ed25519 AAAA'], false);
  await strict.report('n1', ['ssh-ed25519 AAAA'], true);
  expect(strict.known('n1')).toEqual([]);
});
