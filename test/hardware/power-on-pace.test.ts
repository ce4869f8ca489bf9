import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { define, labNode } from './nodes.ts';
import { openStream, readStream, type Stream } from './stream.ts';

/** Longer than any test takes: what waits, waits until it is cancelled. */
const forever = '86400';

let slow: TestServer;
let quick: TestServer;
let bmcs: BmcLab;
beforeAll(async () => {
  [slow, quick, bmcs] = await Promise.all([
    startServer({ environment: { MUSTER_POWER_ON_PER_RACK: '2', MUSTER_POWER_ON_INTERVAL: forever } }),
    startServer({ environment: { MUSTER_POWER_ON_PER_RACK: '2', MUSTER_POWER_ON_INTERVAL: '1' } }),
    startBmcs({ count: 6, prefix: '127.97' }),
  ]);
  const racks = ['r1', 'r1', 'r1', 'r1', 'r2', ''];
  const nodes = Object.fromEntries(
    bmcs.addresses.map((address, at) => [`n${at + 1}`, labNode('ipmi', address, { rack: racks[at]! })]),
  );
  await Promise.all([define(slow, nodes), define(quick, nodes)]);
});
afterAll(() => Promise.all([slow?.stop(), quick?.stop(), bmcs?.stop()]));

const results = ({ lines }: Stream) => lines.flatMap(({ json }) => (json.node === undefined ? [] : [json]));
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50));
};
const isOn = async (node: number): Promise<string> =>
  (await quick.ok('GET', `/nodes/n${node}/power`))[`n${node}`].power;

describe('powering on with a limit for each rack', () => {
  it('begins as many as the limit says, while other racks and readings go on, and ends when it is cancelled', async () => {
    await readStream(quick, 'PUT', '/nodes/n1-n6/power', { action: 'off' });
    const stream = await openStream(slow, 'PUT', '/nodes/n1-n6/power', { action: 'on' });
    await until(() => results(stream).length === 4);
    const begun = results(stream).map(({ node }) => node as string);
    expect(begun).toEqual(expect.arrayContaining(['n5', 'n6']));
    const waiting = ['n1', 'n2', 'n3', 'n4'].filter((node) => !begun.includes(node));
    expect(waiting).toHaveLength(2);
    const run = (await slow.ok('GET', `/runs/${stream.run}`)) as { progress?: unknown };
    expect(JSON.stringify(run)).toContain('It waits: muster powers on at most 2 of rack r1 in 86400 s.');
    expect((await slow.ok('GET', `/nodes/${waiting[0]}/power`))[waiting[0]!]).toEqual({ power: 'off' });
    await slow.ok('DELETE', `/runs/${stream.run}`);
    await stream.ended;
    expect(
      results(stream)
        .filter(({ error }) => error !== undefined)
        .map(({ node }) => String(node))
        .toSorted((a, b) => a.localeCompare(b)),
    ).toEqual(waiting);
    for (const node of waiting) expect(await isOn(Number(node.slice(1)))).toBe('off');
  });

  it('does not hold up what is on already, nor what is switched off', async () => {
    await readStream(quick, 'PUT', '/nodes/n1-n4/power', { action: 'on' });
    expect(await Promise.all([1, 2, 3, 4].map(isOn))).toEqual(['on', 'on', 'on', 'on']);
    const again = await readStream(slow, 'PUT', '/nodes/n1-n4/power', { action: 'on' });
    expect(results(again).map(({ value }) => value)).toEqual(Array.from({ length: 4 }, () => ({ power: 'on' })));
    const off = await readStream(slow, 'PUT', '/nodes/n1-n4/power', { action: 'off' });
    expect(results(off).map(({ value }) => value)).toEqual(Array.from({ length: 4 }, () => ({ power: 'off' })));
  });

  it('is said by a dry run', async () => {
    const { json } = await slow.call('PUT', '/nodes/n1,n6/power', { body: { action: 'boot' }, query: { dryRun: '1' } });
    expect(json.targets).toEqual({
      n1: { mgt: 'ipmi', address: bmcs.addresses[0], pace: '2 of rack r1 in 86400 s' },
      n6: { mgt: 'ipmi', address: bmcs.addresses[5] },
    });
  });
});
