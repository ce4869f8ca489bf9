import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
beforeAll(async () => {
  world = await startWorld({ count: 1, prefix: '127.126', port: 2608 }, 'hostKeys = "strict"');
}, 60_000);
afterAll(() => world.stop());

it('where only known host keys are accepted, a node gets nothing before its key is known', async () => {
  const [sentence] = (await world.shell('t0', 'touch begun')).json.error;
  expect(sentence).toContain('is not known, and only known ones are accepted here');
  expect(sentence).toContain('PUT /tables/sshhostkey/rows/node=t0');
  await world.server.ok('PUT', '/tables/sshhostkey/rows/node=t0', { hostkey: `${world.lab.hostKey(0)} a comment` });
  expect((await world.shell('t0', 'ls')).json).toEqual({ t0: [] });
});
