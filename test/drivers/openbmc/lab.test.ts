import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { openbmcDriver } from '../../../src/drivers/openbmc/index.ts';
import { accessTo, type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

/** Places in the lab: one with the older resources, one with the newer ones. */
const older = 0;
const newer = 1;
const signal = new AbortController().signal;

let lab: RedfishLab;
let driver: Driver;

beforeAll(async () => {
  lab = await startRedfish({ count: 2, prefix: '127.113', port: 8_449, kinds: ['openbmc'] });
  driver = openbmcDriver({ trust: memoryTrust(), powerTimeout: 5_000, connectTimeout: 300, requestTimeout: 1_000 });
});
afterAll(async () => {
  await driver.close();
  await lab.stop();
});

const of = (index: number) => driver.connect(accessTo(lab, index)) as Required<Capabilities>;

describe('power', () => {
  it.each([
    ['quiesced', 'quiesced'],
    ['chassis', 'on (Chassis)'],
    [false, 'off'],
  ] as const)('of a host that is %s', async (host, state) => {
    await lab.fault(older, { host });
    expect(await of(older).power.state(signal)).toBe(state);
    expect(await of(older).vitals.read(['power'], signal)).toEqual({ 'Power Status': state });
  });

  it('of a chassis without a running host can be booted, and not reset', async () => {
    await lab.fault(older, { host: 'chassis' });
    const { power } = of(older);
    expect(await power.set('reset', signal)).toBe('on (Chassis)');
    expect(await power.set('boot', signal)).toBe('on');
    expect((await lab.state(older)).resets).toEqual(['On']);
    await lab.fault(older, { host: false });
    expect(await power.set('off', signal)).toBe('off');
  });
});

describe('the BMC itself', () => {
  it('says whether it is ready', async () => {
    const { controller } = of(newer).power;
    expect(await controller!.state(signal)).toBe('BMC Ready');
    await lab.fault(newer, { starting: true });
    expect(await controller!.state(signal)).toBe('BMC NotReady');
    await lab.fault(newer, { starting: false, dead: 'refused' });
    expect(await controller!.state(signal)).toBe('BMC NotReady');
    await lab.fault(newer, { dead: false });
  });

  it('is restarted', async () => {
    expect(await of(newer).power.controller!.restart(signal)).toBe('BMC reboot');
    expect((await lab.state(newer)).resets).toEqual(['Manager']);
    expect(await of(newer).power.controller!.state(signal)).toBe('BMC Ready');
  });
});

it('what boots next is Default unless it is set', async () => {
  const { nextBoot } = of(older);
  expect(await nextBoot.get(signal)).toBe('Default');
  expect(await nextBoot.set('net', { persistent: true, mode: undefined }, signal)).toBe('Network');
  expect(await nextBoot.set('def', { persistent: false, mode: undefined }, signal)).toBe('Default');
});

describe('lights', () => {
  it('of the location are told for both sides', async () => {
    const { beacon } = of(newer);
    await beacon.set('on', signal);
    expect(await beacon.state!(signal)).toBe('Front:On Rear:On');
    await beacon.set('off', signal);
    expect(await beacon.state!(signal)).toBe('Front:Off Rear:Off');
  });

  it.each([
    [older, ['N/A', 'N/A', 'N/A', 'N/A']],
    [newer, ['Off', 'Off', 'N/A', 'N/A']],
  ])('of machine %i have the labels of the reference system', async (index, fans) => {
    expect(Object.entries(await of(index).vitals.read(['leds'], signal))).toEqual([
      ...fans.map((state, i) => [`LEDs Fan${i}`, state]),
      ['LEDs Front Fault', 'N/A'],
      ['LEDs Front Identify', 'Off'],
      ['LEDs Front Power', 'N/A'],
      ['LEDs Rear Fault', 'N/A'],
      ['LEDs Rear Identify', 'Off'],
      ['LEDs Rear Power', 'N/A'],
    ]);
    expect(await of(index).vitals.read([], signal)).toMatchObject({ 'LEDs Rear Power': 'N/A' });
  });
});

describe('settings', () => {
  it.each([
    ['bootmode', 'BMC BootMode', 'regular', ['safe', 'setup', 'regular']],
    ['thermalmode', 'BMC ThermalMode', 'default', ['heavy_io', 'max_base_fan_floor', 'custom', 'default']],
    ['powersupplyredundancy', 'BMC PowerSupplyRedundancy', 'enabled', ['disabled', 'enabled']],
  ])('%s', async (attribute, label, first, values) => {
    const { serviceProcessor } = of(older);
    expect(await serviceProcessor.get(attribute, signal)).toEqual({ [label]: first });
    for (const value of values) {
      await serviceProcessor.set({ [attribute]: value }, signal);
      expect(await serviceProcessor.get(attribute, signal)).toEqual({ [label]: value });
    }
    await expect(serviceProcessor.set({ [attribute]: 'other' }, signal)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(new RegExp(`^${attribute} is one of .*${first}.*, not "other"`)),
    });
  });

  it('of the power supplies are only told where there is no place to set them', async () => {
    const { serviceProcessor } = of(newer);
    expect(await serviceProcessor.get('powersupplyredundancy', signal)).toEqual({
      'BMC PowerSupplyRedundancy': 'enabled',
    });
    await expect(serviceProcessor.set({ powersupplyredundancy: 'disabled' }, signal)).rejects.toMatchObject({
      message: expect.stringMatching(/does not allow powersupplyredundancy to be set/),
    });
  });
});

it('no address was guessed', async () => {
  for (const index of [older, newer]) expect((await lab.state(index)).missed).toEqual([]);
});
