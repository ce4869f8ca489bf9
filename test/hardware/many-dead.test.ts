import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { labAddresses } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { define, labNodes } from './nodes.ts';
import { readStream } from './stream.ts';

/** More than are worked on at a time. */
const dead = 2_200;
const living = 300;

let server: TestServer;
let bmcs: LightLab;

beforeAll(async () => {
  [server, bmcs] = await Promise.all([startServer(), startLightBmcs({ count: living, prefix: '127.118' })]);
  // In the order of the names the dead ones are first.
  await define(server, {
    ...labNodes('dead', 'ipmi', labAddresses('127.119', dead)),
    ...labNodes('live', 'ipmi', bmcs.addresses),
  });
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop()]));

it('service processors that do not answer keep nobody waiting, however many there are', {
  timeout: 300_000,
}, async () => {
  const { lines } = await readStream(server, 'GET', '/nodes/all/power');
  const good = lines.filter(({ json }) => json.value);
  expect(good).toHaveLength(living);
  expect(lines.at(-1)!.json.summary).toMatchObject({ ok: living, failed: dead });
  // How long silence lasts depends on how busy this machine is.
  const { at: deadline } = lines.find(({ json }) => json.error)!;
  expect(good.at(-1)!.at).toBeLessThan(deadline);
  expect(lines.at(-1)!.at).toBeLessThan(deadline * 2.5);
});
