import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyFingerprint, keyText } from '../../../src/protocols/ssh/host-keys.ts';
import { type SshLab, startSsh } from '../../lab/ssh.ts';
import { clientOf, complaint, memoryHostKeys, run, targetOf } from './world.ts';

let lab: SshLab;

beforeAll(async () => {
  lab = await startSsh({ count: 2, prefix: '127.122', port: 2223, perProcess: 1 });
});
afterAll(() => lab?.stop());

it('shows fingerprints as OpenSSH does', () => {
  const file = join(lab.home(0), 'key.pub');
  writeFileSync(file, `${lab.hostKey(0)}\n`);
  const shown = execFileSync('ssh-keygen', ['-lf', file], { encoding: 'utf8' });
  expect(shown).toContain(keyFingerprint(lab.hostKey(0)));
  expect(keyText(Buffer.from(lab.hostKey(0).split(' ')[1]!, 'base64'))).toBe(lab.hostKey(0));
});

it('keeps the key that a host shows first', async () => {
  const hostKeys = memoryHostKeys();
  const client = clientOf(lab, { hostKeys });
  await run(client, targetOf(lab, 0), 'true');
  await client.close();
  expect([...hostKeys.keys]).toEqual([['t0', lab.hostKey(0)]]);
});

it('refuses a host whose key is not known where only known ones are accepted', async () => {
  const hostKeys = memoryHostKeys('strict');
  const client = clientOf(lab, { hostKeys });
  const sentence = await complaint(run(client, targetOf(lab, 0), 'true'));
  expect(sentence).toContain(`It shows ${keyFingerprint(lab.hostKey(0))}.`);
  expect(sentence).toContain('learn t0');
  expect(hostKeys.keys.size).toBe(0);

  hostKeys.keys.set('t0', lab.hostKey(0));
  expect(await run(client, targetOf(lab, 0), 'echo known')).toMatchObject({ stdout: 'known\n' });
  await client.close();
});

it('refuses a host whose key has changed until the old one is forgotten, and sends it nothing', async () => {
  const hostKeys = memoryHostKeys();
  const client = clientOf(lab, { hostKeys });
  const target = targetOf(lab, 1);
  await run(client, target, 'true');
  const before = keyFingerprint(lab.hostKey(1));
  await lab.changeHostKey(1);
  const after = keyFingerprint(lab.hostKey(1));
  expect(after).not.toBe(before);

  const sentence = await complaint(run(client, target, 'touch ran'));
  for (const piece of [`${lab.addresses[1]}:2223`, 't1', before, after, 'has changed', 'forget t1']) {
    expect(sentence).toContain(piece);
  }
  hostKeys.keys.delete('t1');
  expect(await run(client, target, 'ls')).toMatchObject({ stdout: '', code: 0 });
  await client.close();
});

it('accepts only one of two keys that are shown first at the same moment', async () => {
  const hostKeys = memoryHostKeys();
  const client = clientOf(lab, { hostKeys });
  const [first, second] = [0, 1].map((index) => run(client, targetOf(lab, index, { name: 'same' }), 'true'));
  const ends = await Promise.allSettled([first, second]);
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await client.close();
});
