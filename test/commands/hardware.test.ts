import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { discoveryLine } from '../../src/commands/network-search.ts';
import type { Command } from '../../src/commands/command.ts';
import { rpower } from '../../src/commands/rpower.ts';
import { rscan } from '../../src/commands/rscan.ts';
import { rspconfig } from '../../src/commands/rspconfig.ts';
import { AddressGuard } from '../../src/core/address-guard.ts';
import { Fault } from '../../src/core/errors.ts';
import type { NodeResult } from '../../src/core/results.ts';
import { type BmcAccess, bmcAttributes, bmcTarget } from '../../src/drivers/bmc/target.ts';
import type { Capabilities } from '../../src/drivers/capabilities.ts';
import type { Driver } from '../../src/drivers/driver.ts';
import { Devices } from '../../src/drivers/devices.ts';
import { Governor } from '../../src/drivers/governor.ts';
import { Hardware } from '../../src/drivers/hardware.ts';
import { memoryStore, nodeResultsOf, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
/** What the hardware of the next test can do. */
let capabilities: (access: BmcAccess) => Capabilities;

const driver: Driver<BmcAccess> = {
  name: 'ipmi',
  offers: ['power', 'serviceProcessor', 'subnodes'],
  attributes: bmcAttributes,
  target: (node) =>
    bmcTarget(node, { name: 'ipmi', guard: new AddressGuard(undefined), problems: () => [], extras: () => ({}) }),
  connect: (access) => capabilities(access),
  close: async () => {},
};

const many = Array.from({ length: 1_500 }, (_, place) => `vm${place}`);

beforeAll(async () => {
  cluster = await memoryStore();
  await cluster.put(
    ...['a', 'a-b', 'c', 'd', ...many].map((node) => ['nodelist', { node, groups: 'all' }] as const),
    ['nodehm', { node: 'all', mgt: 'ipmi' }],
    ['ipmi', { node: 'all', bmc: '|^([acd].*)$|10.0.0.(1)|', username: 'u', password: 'p' }],
    ['ipmi', { node: 'c', bmc: '10.0.0.7' }],
    ...many.map((node) => ['ipmi', { node, bmc: '10.0.0.9' }] as const),
  );
});
afterAll(() => cluster.close());

/** All results in the order they came, from hardware without memory of earlier tests. */
async function resultsOf<Args>(command: Command<Args>, args: Args): Promise<NodeResult[]> {
  const drivers = new Map([[driver.name, driver]]);
  const workerServices = { devices: new Devices(drivers, new Governor()) };
  Object.assign(cluster.services, { hardware: new Hardware(drivers, cluster.box), workerServices });
  return nodeResultsOf(await cluster.run(command, args));
}

describe('the nodes behind nodes', () => {
  const behind: Readonly<Record<string, readonly string[]>> = {
    a: ['a-b-1', 'twin'],
    'a-b': ['a-b-1', 'only'],
    c: ['c-1', 'twin', 'a-twin'],
    d: ['d-1'],
  };

  test.each([[['a', 'a-b', 'c', 'd']], [['d', 'c', 'a-b', 'a']], [['c', 'a', 'd', 'a-b']]])(
    'have the same names whoever answers first: %j',
    async (order) => {
      const answers = new Map(order.map((node) => [node, Promise.withResolvers<void>()]));
      // One BMC per node, so that they answer in this order.
      await cluster.put(...order.map((node, i) => ['ipmi', { node, bmc: `10.0.1.${i}` }] as const));
      capabilities = ({ node }) => ({
        subnodes: {
          async list() {
            await answers.get(order[order.indexOf(node) - 1] ?? '')?.promise;
            setImmediate(answers.get(node)!.resolve);
            return Object.fromEntries(behind[node]!.map((name) => [name, { serial: `${node}/${name}` }]));
          },
        },
      });
      const results = await resultsOf(rscan, { range: 'a,a-b,c,d' });
      const told = Object.fromEntries(
        results.map((result) => [result.node, 'value' in result && (result.value as { serial: string }).serial]),
      );
      expect(told).toEqual({
        'a-a-b-1': 'a/a-b-1',
        'a-b-a-b-1': 'a-b/a-b-1',
        'a-twin': 'a/twin',
        'c-twin': 'c/twin',
        'c-a-twin': 'c/a-twin',
        only: 'a-b/only',
        'c-1': 'c/c-1',
        'd-1': 'd/d-1',
      });
    },
  );

  test('are told at once if no other can have their name', async () => {
    const other = Promise.withResolvers<void>();
    capabilities = ({ node }) => ({
      subnodes: {
        async list() {
          if (node === 'c') await other.promise;
          if (node === 'c') throw new Fault('invalid', 'is no chassis.');
          setImmediate(other.resolve);
          return { [`${node}-1`]: {}, host: {} };
        },
      },
    });
    const results = await resultsOf(rscan, { range: 'c,d' });
    expect(results.map(({ node }) => node)).toEqual(['d-1', 'c', 'host']);
  });
});

test('many nodes behind one BMC are worked on one after the other in one request', async () => {
  let running = 0;
  let most = 0;
  capabilities = () => ({
    power: {
      async state() {
        most = Math.max(most, ++running);
        await wait(0);
        running--;
        return 'on';
      },
      set: async () => 'on',
    },
  });
  const results = await resultsOf(rpower, { range: 'vm[0-1499]', action: 'stat' });
  expect(results.filter((result) => 'error' in result)).toEqual([]);
  expect([results.length, most]).toEqual([many.length, 1]);
});

describe('power actions for the BMC itself', () => {
  const power = { state: async () => 'on', set: async () => 'on' };

  test('are those of the hardware', async () => {
    capabilities = () => ({
      power: { ...power, controller: { state: async () => 'BMC Ready', restart: async () => 'BMC reboot' } },
    });
    expect(await resultsOf(rpower, { range: 'c', action: 'bmcstate' })).toEqual([
      { node: 'c', value: { power: 'BMC Ready' } },
    ]);
    expect(await resultsOf(rpower, { range: 'c', action: 'bmcreboot' })).toEqual([
      { node: 'c', value: { power: 'BMC reboot' } },
    ]);
  });

  test('are an error in words where there are none', async () => {
    capabilities = () => ({ power });
    expect(await resultsOf(rpower, { range: 'c', action: 'bmcreboot' })).toEqual([
      { node: 'c', error: 'bmcreboot is not possible with its kind of hardware.' },
    ]);
  });
});

describe('a BMC that moves', () => {
  const moving = (before: string): (() => Capabilities) => {
    let address = before;
    return () => ({
      serviceProcessor: {
        get: async () => ({ 'BMC IP': address }),
        async set({ ip }) {
          address = ip!;
        },
      },
    });
  };

  test('takes the node’s attribute bmc with it, and the result says so', async () => {
    await cluster.put(['ipmi', { node: 'c', bmc: '10.0.0.7' }]);
    capabilities = moving('10.0.0.7');
    expect(await resultsOf(rspconfig, { range: 'c', attribute: 'ip', set: { ip: '10.0.0.8' } })).toEqual([
      {
        node: 'c',
        value: {
          'BMC IP': '10.0.0.8',
          Message: ['Its BMC has moved from 10.0.0.7 to 10.0.0.8; its attribute bmc is 10.0.0.8 now.'],
        },
      },
    ]);
    expect(cluster.current.get('ipmi', 'c')).toMatchObject({ bmc: '10.0.0.8' });
  });

  test('to where it is changes nothing', async () => {
    capabilities = moving('10.0.0.8');
    const { revision } = cluster.current;
    expect(await resultsOf(rspconfig, { range: 'c', attribute: 'ip', set: { ip: '10.0.0.8' } })).toEqual([
      { node: 'c', value: {} },
    ]);
    expect(cluster.current.revision).toBe(revision);
  });
});

test.each([
  [{ model: 'Server, 2U', serial: 'S,1', note: '' }, '10.0.0.1,Server; 2U,S;1,admin,,mp,bmc,00:11:22:33:44:55'],
  [{ model: 'A\nB', serial: ' C\u0000 ', note: '' }, '10.0.0.1,A B,C,admin,,mp,bmc,00:11:22:33:44:55'],
  [{ model: '', serial: '', note: 'no, not now.' }, '10.0.0.1,,,admin,,mp,bmc,00:11:22:33:44:55,no; not now.'],
])('a line of what was found has its fields where they belong: %j', (said, line) => {
  const found = { address: '10.0.0.1', kind: 'ipmi', mac: '00:11:22:33:44:55', ...said } as const;
  expect(discoveryLine(found, 'admin')).toBe(line);
});
