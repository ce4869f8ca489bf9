import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { ipmiDriver } from '../../../src/drivers/ipmi/index.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { ipmitool } from './ipmitool.ts';

/** Settings that are not kept, and addresses at which another one answers. */

const account = labAccounts.administrator;
const { signal } = new AbortController();
let lab: BmcLab;
/** The same BMCs by GUID and MAC address, at other addresses. */
let twins: BmcLab;
let stock: BmcLab;
let driver: Driver;

beforeAll(async () => {
  [lab, twins, stock] = await Promise.all([
    startBmcs({ count: 5, prefix: '127.115' }),
    startBmcs({ count: 1, prefix: '127.116' }),
    startBmcs({ count: 1, prefix: '127.117', stock: true }),
  ]);
  driver = ipmiDriver({ powerTimeout: 2_000, addressTimeout: 10_000 });
});

afterAll(async () => {
  await driver?.close();
  await Promise.all([lab?.stop(), twins?.stop(), stock?.stop()]);
});

const at = (address: string): Required<Omit<Capabilities, 'bootSequence'>> =>
  driver.connect({ node: 'n1', address, port: undefined, ...account }) as Required<Omit<Capabilities, 'bootSequence'>>;
const processor = (index: number) => at(lab.addresses[index]!).serviceProcessor;

describe('what is set is read back', () => {
  test('and is there for ipmitool too', async () => {
    await processor(0).set({ community: 'private', netmask: '255.255.0.0', snmpdest2: '10.0.0.9' }, signal);
    const seen = await ipmitool(lab.addresses[0]!, account, 'lan', 'print', '1');
    expect(seen).toMatch(/SNMP Community String +: private/);
    expect(seen).toMatch(/Subnet Mask +: 255\.255\.0\.0/);
    expect(await ipmitool(lab.addresses[0]!, account, 'lan', 'alert', 'print', '1', '2')).toMatch(/: 10\.0\.0\.9/);
    expect(await processor(0).get('snmpdest', signal)).toEqual({
      'SP SNMP Destination 1': '0.0.0.0',
      'SP SNMP Destination 2': '10.0.0.9',
      'SP SNMP Destination 3': '0.0.0.0',
      'SP SNMP Destination 4': '0.0.0.0',
    });
  });

  test('and every setting that was dropped is named with what was wanted and found', async () => {
    await lab.fault(1, { dropSettings: true });
    const settings = {
      community: 'private',
      netmask: '255.255.0.0',
      gateway: '127.115.0.254',
      snmpdest: '10.0.0.9',
      vlan: '7',
    };
    const error: unknown = await processor(1)
      .set(settings, signal)
      .catch((thrown: unknown) => thrown);
    const dropped = (attribute: string, wanted: string, found: string): string =>
      `its BMC accepted ${attribute} but did not keep it: wanted "${wanted}", found "${found}".`;
    expect(error).toMatchObject({
      kind: 'invalid',
      sentences: [
        dropped('community', 'private', 'public'),
        dropped('netmask', '255.255.0.0', '255.0.0.0'),
        dropped('gateway', '127.115.0.254', '0.0.0.0'),
        dropped('snmpdest1', '10.0.0.9', '0.0.0.0'),
        dropped('vlan', '7', 'off'),
      ],
    });
  });

  test('also from ipmi_sim as it is shipped, which takes a community and drops it', async () => {
    const { serviceProcessor } = at(stock.addresses[0]!);
    await expect(serviceProcessor.set({ community: 'private' }, signal)).rejects.toThrow(
      'accepted community but did not keep it: wanted "private", found "public".',
    );
    await expect(serviceProcessor.set({ community: 'public' }, signal)).resolves.toEqual({});
  });
});

test('what a BMC does not have is called by its name', async () => {
  const { serviceProcessor } = at(stock.addresses[0]!);
  await expect(serviceProcessor.get('garp', signal)).rejects.toThrow(
    'its BMC does not have the setting garp (interval of gratuitous ARPs).',
  );
  await expect(serviceProcessor.get('snmpdest', signal)).rejects.toThrow('its BMC has no SNMP destination 1.');
  await expect(processor(0).get('snmpdest9', signal)).rejects.toThrow('its BMC has no SNMP destination 9.');
});

describe('a move', () => {
  test('to where the same one answers succeeds', async () => {
    await processor(0).set({ ip: twins.addresses[0]! }, signal);
    const seen = await ipmitool(lab.addresses[0]!, account, 'lan', 'print', '1');
    expect(seen).toMatch(/IP Address +: 127\.116\.0\.1/);
  });

  test('to where another one with the same account answers is told', async () => {
    await expect(processor(2).set({ ip: lab.addresses[3]! }, signal)).rejects.toThrow(
      /asked to use the address 127\.115\.0\.4, but another BMC answers there \(GUID \S+ instead of \S+\)/,
    );
  });
});

test('a power action has one timeout for all it does', async () => {
  const { power } = at(lab.addresses[4]!);
  expect(await power.state(signal)).toBe('off');
  await lab.fault(4, { delay: 900 });
  await expect(power.set('on', signal)).rejects.toMatchObject({
    kind: 'deadline',
    message: 'it is still off 2 s after the power action on.',
  });
});

test('the nodes behind an IPMI node', async () => {
  await expect(at(lab.addresses[0]!).subnodes.list(signal)).rejects.toThrow(
    'it is a single server with mgt=ipmi and has no subnodes; a chassis or management module that has some is managed with mgt=redfish.',
  );
});
