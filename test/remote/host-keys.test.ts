import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyFingerprint } from '../../src/protocols/ssh/host-keys.ts';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
beforeAll(async () => {
  world = await startWorld({ count: 1, prefix: '127.126', port: 2608 }, 'hostKeys = "strict"');
});
afterAll(() => world.stop());

const shell = () => world.shell('t0', 'ls');
const row = '/tables/sshhostkey/rows/node=t0';
const complaint = async (): Promise<string> => (await shell()).json.error[0];

it('where only known host keys are accepted, a node gets nothing before its key is known', async () => {
  const sentence = (await world.shell('t0', 'touch begun')).json.error[0];
  expect(sentence).toContain('is not known, and only known ones are accepted here');
  expect(sentence).toContain(`It shows ${keyFingerprint(world.lab.hostKey(0))}. If that is right: PUT ${row}`);
  await world.server.ok('PUT', row, { hostkey: `${world.lab.hostKey(0)} a comment` });
  expect((await shell()).json).toEqual({ t0: [] });
});

it('there, a node whose key has changed gets nothing until the old key is forgotten and the new one made known', async () => {
  const old = keyFingerprint(world.lab.hostKey(0));
  await world.lab.changeHostKey(0);
  const shown = keyFingerprint(world.lab.hostKey(0));
  const changed = await complaint();
  expect(changed).toContain(`The fingerprint known for t0 is ${old}, the one shown now is ${shown}.`);
  expect(changed).toContain(`forget the old key: DELETE ${row}. PUT ${row} with`);
  await world.server.ok('DELETE', row);
  expect(await complaint()).toContain(`It shows ${shown}.`);
  await world.server.ok('PUT', row, { hostkey: world.lab.hostKey(0) });
  expect((await shell()).json).toEqual({ t0: [] });
});

it('there, a copy goes to nodes with known keys only, too', async () => {
  await world.server.ok('DELETE', row);
  writeFileSync(join(world.sources, 'file'), 'x');
  // Without the connection that is kept.
  world.lab.sever(0);
  const body = { src: [join(world.sources, 'file')], target: '.' };
  const reply = await world.server.call('POST', '/nodes/t0/nodecopy', { body });
  expect(reply.json.error[0]).toContain('is not known');
});
