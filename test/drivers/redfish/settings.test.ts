import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import { accessTo, type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { redfishServiceProcessor } from '../../../src/drivers/redfish/service-processor.ts';
import { serverTree, treeTarget } from './tree.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

/** Places in the lab; both have the older Power, of which the sparse one does not tell the highest limit. */
const plain = 0;
const sparse = 2;
const moving = 4;
const signal = new AbortController().signal;

let lab: RedfishLab;
let driver: Driver;

beforeAll(async () => {
  const kinds = ['plain', 'plain', 'sparse'] as const;
  lab = await startRedfish({ count: 5, prefix: '127.112', port: 8_448, kinds: [...kinds, 'plain', 'plain'] });
});
afterAll(() => lab.stop());
beforeEach(() => {
  const limits = { connectTimeout: 300, requestTimeout: 1_000, addressTimeout: 1_000 };
  driver = redfishDriver({ trust: memoryTrust(), powerTimeout: 5_000, ...limits });
});
afterEach(() => driver.close());

const of = (index: number, given: { node?: string; address?: string; password?: string } = {}) =>
  driver.connect({ ...accessTo(lab, index), ...given }) as Required<Capabilities>;

describe('a power limit that the service forgets when it is off', () => {
  it('is turned on again as it was last', async () => {
    const { energy } = of(plain);
    await energy.set('cappingvalue', '310', signal);
    await energy.set('cappingstatus', 'off', signal);
    expect(await energy.read(['cappingstatus', 'cappingvalue'], signal)).toEqual({
      cappingstatus: 'off',
      cappingvalue: 'na',
    });
    await energy.set('cappingstatus', 'on', signal);
    expect((await lab.state(plain)).limit).toEqual({ watts: 310, active: true });
    await energy.set('cappingstatus', 'off', signal);
  });

  it('is the highest where none was seen', async () => {
    await of(plain).energy.set('cappingstatus', 'on', signal);
    expect((await lab.state(plain)).limit).toEqual({ watts: 1_500, active: true });
    await of(plain).energy.set('cappingstatus', 'off', signal);
  });

  it('cannot be turned on where neither is known', async () => {
    await expect(of(sparse).energy.set('cappingstatus', 'on', signal)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/does not report the highest one; set cappingvalue/),
    });
  });

  it('is a percentage of the highest', async () => {
    await of(plain).energy.set('cappingvalue', '20%', signal);
    expect((await lab.state(plain)).limit.watts).toBe(300);
    await expect(of(plain).energy.set('cappingvalue', '0%', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/cappingvalue 0 is outside the range of 1 to 1500 W/),
    });
    await expect(of(sparse).energy.set('cappingvalue', '20%', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/does not report the highest power limit.*in watts/),
    });
  });

  it('is told as the reference system tells it', async () => {
    expect(Object.entries(await of(plain).energy.read([], signal))).toEqual([
      ['cappingstatus', 'on'],
      ['cappingmin', 'na'],
      ['cappingmax', '1500 W'],
      ['cappingvalue', '300 W'],
      ['averageAC', '8 W'],
    ]);
    expect(await of(plain).energy.read(['cappingmaxmin'], signal)).toEqual({ cappingmin: 'na', cappingmax: '1500 W' });
  });
});

describe('a password', () => {
  it('needs the account it is for', async () => {
    await expect(of(1).serviceProcessor.set({ password: 'new-secret' }, signal)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/give userid or username with the password/),
    });
    expect((await lab.state(1)).changes).toEqual([]);
    expect(await of(1).serviceProcessor.set({ username: 'oper', password: 'new-secret' }, signal)).toEqual({});
  });

  it('of the account we use ourselves asks for the attribute of the node', async () => {
    const notes = await of(1).serviceProcessor.set({ username: 'admin', password: 'own-secret' }, signal);
    expect(notes).toEqual({ Message: [expect.stringMatching(/set bmcpassword of the node/)] });
    expect(JSON.stringify(notes)).not.toContain('own-secret');
    expect(await of(1, { password: 'own-secret' }).power.state(signal)).toBe('off');
  });
});

describe('a BMC that is told another address', () => {
  it('is found there, which the user hears', async () => {
    const address = '127.112.0.200';
    expect(await of(moving).serviceProcessor.set({ ip: address }, signal)).toEqual({ 'BMC IP': address });
    expect(await of(moving, { address }).power.state(signal)).toBe('off');
  });

  it('and does not come up there is a deadline that has passed', async () => {
    const address = '127.112.0.201';
    await lab.fault(3, { lost: true });
    await expect(of(3).serviceProcessor.set({ ip: address }, signal)).rejects.toMatchObject({
      kind: 'deadline',
      message: expect.stringMatching(/asked to move to 127\.112\.0\.201, but does not answer there/),
    });
  });
});

describe('a BMC that is known by a name', () => {
  it('is found at the address it is told', async () => {
    const local = await startRedfish({ count: 1, prefix: '127.0', port: 8_451, kinds: ['plain'] });
    try {
      const named = driver.connect({
        node: 'named',
        address: 'localhost',
        port: local.port,
        username: 'admin',
        password: 'secret',
      });
      const address = '127.113.0.9';
      expect(await named.serviceProcessor!.set({ ip: address, netmask: '255.255.0.0' }, signal)).toEqual({
        'BMC IP': address,
      });
      expect((await local.state(0)).address).toBe(address);
    } finally {
      await driver.close();
      await local.stop();
    }
  });
});

it('a community that is not kept is not repeated', async () => {
  const { target } = treeTarget(serverTree(), {});
  target.service.patch = async () => {};
  const processor = redfishServiceProcessor(target);
  await expect(processor.set({ community: 'Pr1vate' }, signal)).rejects.toMatchObject({
    message: 'its BMC accepted community but did not keep it.',
  });
});

it('nodes behind one BMC are switched over one session', async () => {
  const { sessionsOpened } = await lab.state(sparse);
  for (const node of ['a', 'b', 'c']) expect(await of(sparse, { node }).power.state(signal)).toBe('off');
  expect((await lab.state(sparse)).sessionsOpened).toBe(sessionsOpened + 1);
});
