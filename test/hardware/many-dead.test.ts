import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { labAddresses } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { define, labNodes } from './nodes.ts';
import { openStream } from './stream.ts';

/** More than are worked on at a time. */
const dead = 1_100;
const living = 100;

let server: TestServer;
let bmcs: LightLab;

beforeAll(async () => {
  [server, bmcs] = await Promise.all([
    startServer({ environment: { MUSTER_IPMI_TIMEOUT: '240' } }),
    startLightBmcs({ count: living, prefix: '127.118' }),
  ]);
  // In the order of the names the dead ones are first.
  await define(server, {
    ...labNodes('dead', 'ipmi', labAddresses('127.42', dead)),
    ...labNodes('live', 'ipmi', bmcs.addresses),
  });
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop()]));

it('BMCs that do not answer keep nobody waiting, however many there are', {
  timeout: 300_000,
}, async () => {
  const stream = await openStream(server, 'GET', '/nodes/all/power');
  const values = (): number => stream.lines.filter(({ json }) => json.value).length;
  await expect.poll(values, { timeout: 250_000 }).toBe(living);
  // None of the dead ones has been given up by then.
  expect(stream.lines).toHaveLength(living);
  await server.ok('DELETE', `/runs/${stream.run}`);
  await stream.ended;
});
