import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { ipmitool } from '../lab/tools.ts';
import { define, labNode, labNodes } from './nodes.ts';
import { readStream } from './stream.ts';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;
/** Takes a minute to change its power state. */
let sluggish: RedfishLab;

beforeAll(async () => {
  [server, bmcs, services, sluggish] = await Promise.all([
    startServer({ environment: { MUSTER_POWER_DEADLINE: '2' } }),
    startBmcs({ count: 3, prefix: '127.72' }),
    startRedfish({ count: 2, prefix: '127.73', kinds: ['plain', 'openbmc'] }),
    startRedfish({ count: 2, prefix: '127.74', kinds: ['plain'], powerDelay: 60_000 }),
  ]);
  await define(server, {
    ...labNodes('i', 'ipmi', bmcs.addresses),
    rf: labNode('redfish', services.addresses[0]!),
    ob: labNode('openbmc', services.addresses[1]!),
    ...labNodes('slow', 'redfish', sluggish.addresses),
  });
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop(), sluggish?.stop()]));

const power = (range: string, action: string) => server.call('PUT', `/nodes/${range}/power`, { body: { action } });
const stateOf = async (range: string) => (await server.ok('GET', `/nodes/${range}/power`)) as unknown;

describe('power of an IPMI node', () => {
  const changesOf = (index: number): readonly string[] => bmcs.state(index).changes.filter((line) => /power|reset|cycle/.test(line));

  it.each([
    ['off', 'on', 'on'],
    ['on', 'on', 'on'],
    ['on', 'reset', 'on'],
    ['on', 'boot', 'on'],
    ['on', 'cycle', 'on'],
    ['on', 'softoff', 'off'],
    ['off', 'softoff', 'off'],
    ['off', 'off', 'off'],
    ['off', 'reset', 'off'],
    ['off', 'cycle', 'off'],
    ['off', 'boot', 'on'],
    ['on', 'off', 'off'],
  ])('that is %s: %s makes it %s', async (before, action, after) => {
    expect(bmcs.state(0).power).toBe(before);
    const sent = changesOf(0).length;
    const reply = await power('i1', action);
    expect([reply.status, reply.text]).toEqual([200, '']);
    expect(bmcs.state(0).power).toBe(after);
    expect(await ipmitool(bmcs.addresses[0]!, ['chassis', 'power', 'status'])).toContain(`is ${after}`);
    expect(await stateOf('i1')).toEqual({ i1: { power: after } });
    const nothingToDo = before === 'off' ? action !== 'on' && action !== 'boot' : action === 'on';
    if (nothingToDo) expect(changesOf(0)).toHaveLength(sent);
    else expect(changesOf(0).length).toBeGreaterThan(sent);
  });
});
