import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { labAccounts } from '../lab/addresses.ts';

let server: TestServer;
let lab: LightLab;
beforeAll(async () => {
  lab = await startLightBmcs({ count: 2, prefix: '127.147' });
  server = await startServer();
  const { username: bmcusername, password: bmcpassword } = labAccounts.administrator;
  await server.ok('POST', '/nodes/n[1-3]', {
    groups: 'all',
    mgt: 'ipmi',
    bmcusername,
    bmcpassword,
    bmc: '|127.147.0.($1)|',
  });
  await server.ok('PUT', '/nodes/n3', { mgt: 'nothing' });
});
afterAll(async () => {
  await server.stop();
  await lab.stop();
});

const prefer = (Prefer: string) => ({ headers: { Prefer } });

it('without it one failing node hides the others, as the specification wants', async () => {
  const reply = await server.call('GET', '/nodes/all/power');
  expect([reply.status, Object.keys(reply.json)]).toEqual([403, ['error', 'errorcode']]);
});

it.each(['handling=lenient', 'return=minimal, handling="lenient"; x=y'])(
  '%s shows results and errors',
  async (value) => {
    const reply = await server.call('GET', '/nodes/all/power', prefer(value));
    expect([reply.status, reply.headers['preference-applied']]).toEqual([200, 'handling=lenient']);
    expect(reply.json).toEqual({
      results: { n1: { power: 'off' }, n2: { power: 'off' } },
      errors: { n3: expect.stringContaining('mgt is "nothing"') },
    });
  },
);

it('holds for what changes nodes too', async () => {
  const reply = await server.call('PUT', '/nodes/all/power', { ...prefer('handling=lenient'), body: { action: 'on' } });
  expect([reply.status, reply.json.results]).toEqual([200, { n1: { power: 'on' }, n2: { power: 'on' } }]);
  expect(Object.keys(reply.json.errors)).toEqual(['n3']);
});

it('what is refused before any work is an ordinary error', async () => {
  expect((await server.call('GET', '/nodes/nosuch/power', prefer('handling=lenient'))).status).toBe(404);
});

it('is nothing at /xcatws, and strict handling is the default', async () => {
  for (const [root, value] of [
    ['/xcatws', 'handling=lenient'],
    ['/muster', 'handling=strict'],
  ] as const) {
    const reply = await server.call('GET', '/nodes/all/power', { root, ...prefer(value) });
    expect([reply.status, reply.headers['preference-applied']]).toEqual([403, undefined]);
  }
});
