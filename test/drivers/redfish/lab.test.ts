import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Driver } from '../../../src/drivers/driver.ts';
import { openbmcDriver } from '../../../src/drivers/openbmc/index.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import { Unreachable } from '../../../src/core/errors.ts';
import { accessTo, type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

/** By kind, the services of the lab: two plain ones, since every second one is of the newer style. */
const old = 0;
const newer = 1;
const sparse = 2;
const openbmc = 3;
const enclosure = 4;
const faulty = 5;
const moving = 6;
const servers = [old, newer, sparse, openbmc];
const signal = new AbortController().signal;

let lab: RedfishLab;
let redfish: Driver;
let openBmc: Driver;

beforeAll(async () => {
  const kinds = ['plain', 'plain', 'sparse', 'openbmc', 'enclosure', 'plain', 'plain'] as const;
  lab = await startRedfish({ count: 7, prefix: '127.40', port: 8_445, kinds });
  const trust = memoryTrust();
  redfish = redfishDriver({ trust, powerTimeout: 10_000, connectTimeout: 500, requestTimeout: 2_000 });
  openBmc = openbmcDriver({ trust, powerTimeout: 10_000 });
});
afterAll(async () => {
  await redfish.close();
  await openBmc.close();
  await lab.stop();
});

const of = (index: number, account: { username?: string; password?: string } = {}) => {
  const capabilities = (index === openbmc ? openBmc : redfish).connect({ ...accessTo(lab, index), ...account });
  return capabilities as Required<typeof capabilities>;
};

describe('power', () => {
  it.each(servers)('of server %i goes through all states', async (index) => {
    const { power } = of(index);
    expect(await power.state(signal)).toBe('off');
    const states: string[] = [];
    for (const action of [
      'reset',
      'cycle',
      'softoff',
      'off',
      'on',
      'on',
      'boot',
      'reset',
      'cycle',
      'softoff',
      'boot',
      'off',
    ] as const) {
      states.push(await power.set(action, signal));
    }
    expect(states).toEqual(['off', 'off', 'off', 'off', 'on', 'on', 'on', 'on', 'on', 'off', 'on', 'off']);
    const cycled = index === sparse ? ['ForceOff', 'On'] : ['PowerCycle'];
    const resets = ['On', 'ForceRestart', 'ForceRestart', ...cycled, 'GracefulShutdown', 'On', 'ForceOff'];
    expect((await lab.state(index)).resets).toEqual(resets);
  });

  it('of an enclosure is that of its chassis', async () => {
    const { power } = of(enclosure);
    expect(await power.set('on', signal)).toBe('on');
    expect(await power.state(signal)).toBe('on');
    await expect(power.set('nmi', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/no power action nmi; it has on, off,/),
    });
    expect(await power.set('off', signal)).toBe('off');
  });

  it('needs an account that may change it', async () => {
    const { power } = of(faulty, { username: 'viewer', password: 'viewpw' });
    expect(await power.state(signal)).toBe('off');
    await expect(power.set('on', signal)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/does not allow user "viewer" POST .*privileges/),
    });
  });
});

describe('readings', () => {
  it.each(servers)('of server %i are labelled and have units', async (index) => {
    const { vitals, inventory } = of(index);
    const all = await vitals.read([], signal);
    expect(all).toMatchObject({
      'Inlet Temp': expect.stringMatching(/^2\d C \(\d\d F\)$/),
      '12V Rail': expect.stringMatching(/^1[12](\.\d+)? Volts$/),
      'Fan 1': expect.stringMatching(/^\d+ RPM$/),
      'Power Status': 'off',
    });
    expect(Object.values(all)).toContainEqual(expect.stringMatching(/^\d+ Watts \(\d+ BTUs\/hr\)$/));
    expect(Object.keys(await vitals.read(['temp'], signal))).toEqual(['Inlet Temp', 'CPU1 Temp']);
    const model = index === openbmc ? 'SYSTEM Model' : 'System Model/MTM';
    expect(await inventory.read([], signal)).toMatchObject({
      [model]: 'LabServer 2000',
      'UUID/GUID': expect.any(String),
    });
    expect(Object.keys(await inventory.read(['serial'], signal))).toEqual([
      index === openbmc ? 'SYSTEM SerialNumber' : 'System Serial Number',
    ]);
  });

  it.each([
    ['older', old, { all: 4, temp: 2, voltage: 2, wattage: 2, fanspeed: 2, energy: 1 }],
    ['newer', newer, { all: 3, temp: 2, voltage: 2, wattage: 2, fanspeed: 2, energy: 2 }],
  ] as const)('of a service of the %s style take few requests', async (_, index, most) => {
    const { vitals } = of(index);
    await vitals.read([], signal);
    const counts: Record<string, number> = {};
    for (const kind of Object.keys(most) as (keyof typeof most)[]) {
      const before = (await lab.state(index)).requests.length;
      await vitals.read(kind === 'all' ? [] : [kind], signal);
      counts[kind] = (await lab.state(index)).requests.length - before;
    }
    expect(counts).toEqual(most);
  });

  it.each(servers)('of server %i list no nodes behind it, least of all itself', async (index) => {
    expect(await of(index).subnodes.list(signal)).toEqual({});
  });

  it('of an enclosure tell what is in it', async () => {
    const { vitals, inventory, subnodes } = of(enclosure);
    expect(await vitals.read(['power'], signal)).toEqual({ 'Power Status': 'off' });
    expect(await inventory.read(['model'], signal)).toEqual({ 'System Model/MTM': 'LabEnclosure 4' });
    const members = Object.values(await subnodes.list(signal));
    expect(members.map(({ model, slot }) => [model, slot])).toEqual(
      [1, 2, 3].map((slot) => [`LabSled ${slot}00`, `${slot}`]),
    );
  });
});

describe('the event log', () => {
  it.each([...servers, enclosure])('of service %i is read and cleared', async (index) => {
    const { eventLog } = of(index);
    await eventLog.clear(signal);
    await lab.log(index, 'A fan has stopped.', 'Critical');
    await lab.log(index, 'It turns again.');
    await lab.log(index, 'And stands.');
    const type = index === sparse ? '' : 'Critical, ';
    const lines = (await eventLog.read(signal)).map((line) => line.replace(/^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d /, ''));
    expect(lines).toEqual([`${type}A fan has stopped.`, 'It turns again.', 'And stands.']);
    await eventLog.clear(signal);
    expect([await eventLog.read(signal), (await lab.state(index)).logEntries]).toEqual([[], 0]);
  });
});

describe('what boots next', () => {
  it.each(servers)('at server %i', async (index) => {
    const { nextBoot, power } = of(index);
    const none = index === openbmc ? 'Default' : 'boot override inactive';
    expect(await nextBoot.get(signal)).toBe(none);
    const words: string[] = [];
    for (const order of ['net', 'hd', 'cd', 'floppy', 'setup', 'def', 'net'] as const) {
      words.push(await nextBoot.set(order, { persistent: order === 'hd', mode: undefined }, signal));
      if (order === 'hd') expect((await lab.state(index)).boot).toMatchObject({ enabled: 'Continuous', target: 'Hdd' });
    }
    expect(words).toEqual(['Network', 'Hard Drive', 'CD/DVD', 'Floppy', 'BIOS Setup', none, 'Network']);
    await power.set('on', signal);
    expect((await lab.state(index)).starts.at(-1)).toBe('Pxe');
    expect(await nextBoot.get(signal)).toBe(none);
    await power.set('off', signal);
  });

  it('can be for legacy firmware', async () => {
    await of(old).nextBoot.set('cd', { persistent: false, mode: 'legacy' }, signal);
    expect((await lab.state(old)).boot).toEqual({ enabled: 'Once', target: 'Cd', mode: 'Legacy' });
    await expect(of(sparse).nextBoot.set('cd', { persistent: false, mode: 'legacy' }, signal)).rejects.toMatchObject({
      kind: 'invalid',
    });
  });
});

describe('the location light', () => {
  it.each([old, newer, openbmc, enclosure])('of service %i', async (index) => {
    const { beacon } = of(index);
    for (const action of ['on', 'off'] as const) {
      await beacon.set(action, signal);
      const word = action === 'on' ? 'On' : 'Off';
      expect(await beacon.state!(signal)).toBe(index === openbmc ? `Front:${word} Rear:${word}` : action);
      expect((await lab.state(index)).indicator === 'Off').toBe(action === 'off');
    }
  });

  it('blinks where it can and is missed where it is not', async () => {
    await of(old).beacon.set('blink', signal);
    expect((await lab.state(old)).indicator).toBe('Blinking');
    await expect(of(newer).beacon.set('blink', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/no blinking light; it has on, off/),
    });
    await expect(of(sparse).beacon.set('on', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/no location light/),
    });
  });
});

describe('power capping', () => {
  it.each([...servers, enclosure])('of service %i', async (index) => {
    const { energy } = of(index);
    await energy.set('cappingvalue', '300', signal);
    await energy.set('cappingstatus', 'on', signal);
    expect((await lab.state(index)).limit).toEqual({ watts: 300, active: true });
    expect(await energy.read(['cappingvalue', 'cappingstatus'], signal)).toEqual({
      cappingvalue: '300 W',
      cappingstatus: 'on',
    });
    await energy.set('cappingstatus', 'off', signal);
    expect((await lab.state(index)).limit.active).toBe(false);
  });

  it('is checked before the service is asked', async () => {
    const { changes } = await lab.state(newer);
    await expect(of(newer).energy.set('cappingvalue', '1501', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/range of 50 to 1500 W/),
    });
    await of(newer).energy.set('cappingvalue', '10%', signal);
    expect((await lab.state(newer)).limit.watts).toBe(195);
    expect((await lab.state(newer)).changes).toHaveLength(changes.length + 1);
  });
});

describe('the BMC', () => {
  it.each([...servers, enclosure])('%i is set and read', async (index) => {
    const { serviceProcessor } = of(index);
    expect(await serviceProcessor.get('ip', signal)).toEqual({ 'BMC IP': lab.addresses[index] });
    expect(await serviceProcessor.get('netmask', signal)).toEqual({ 'BMC Netmask': '255.0.0.0' });
    expect(await serviceProcessor.get('vlan', signal)).toEqual({ Message: ['BMC VLAN disabled'] });
    await serviceProcessor.set({ hostname: 'sp', ntp: '10.0.0.1,10.0.0.2' }, signal);
    expect(await serviceProcessor.get('hostname', signal)).toEqual({ 'BMC Hostname': 'sp' });
    expect(await serviceProcessor.get('ntp', signal)).toEqual({ 'BMC NTP Servers': '10.0.0.1,10.0.0.2' });
  });

  it('takes a password for another account', async () => {
    await of(newer).serviceProcessor.set({ username: 'oper', password: 'other-pw' }, signal);
    expect(await of(newer, { username: 'oper', password: 'other-pw' }).power.state(signal)).toBe('off');
  });

  it('that moves is found at its new address, with its session', async () => {
    const address = '127.40.0.200';
    await of(moving).serviceProcessor.set({ ip: address }, signal);
    expect((await lab.state(moving)).address).toBe(address);
    const moved = redfish.connect({ ...accessTo(lab, moving), address });
    expect(await moved.power!.state(signal)).toBe('off');
    expect((await lab.state(moving)).sessionsOpened).toBe(1);
  });
});

describe('what goes wrong', () => {
  it.each([
    [{ dead: 'refused' }, /nothing listens/],
    [{ dead: 'silent' }, /did not answer within/],
    [{ garbage: true }, /is not JSON/],
    [{ unavailable: 9 }, /busy/],
  ] as const)('is told: %o', async (fault, sentence) => {
    await lab.fault(faulty, fault);
    const attempt = of(faulty).power.state(signal);
    await expect(attempt).rejects.toMatchObject({ message: expect.stringMatching(sentence) });
    if ('dead' in fault) await expect(attempt).rejects.toBeInstanceOf(Unreachable);
    await lab.fault(faulty, { dead: false, garbage: false, unavailable: 0 });
    expect(await of(faulty).power.state(signal)).toBe('off');
  });

  it('is told of a wrong password, without the password', async () => {
    await expect(of(faulty, { password: 'wr0ng' }).power.state(signal)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/^its BMC does not accept user "admin"(?!.*wr0ng)/),
    });
  });

  it('is told before a node is touched', () => {
    const target = (driver: Driver, attributes: Record<string, string>) =>
      driver.target(
        { name: 'n', attributes, account: (key) => (key === 'openbmc' ? { username: 'o' } : undefined) },
        'power',
      );
    expect(() => target(redfish, { bmc: 'a b' })).toThrow(
      /^its attribute bmc, "a b", is not an address.* no user name and no password .*passwd with the key redfish\.$/,
    );
    expect(() => target(openBmc, { bmc: '10.0.0.1' })).toThrow(/^it has no password .* the key openbmc\.$/);
    expect(target(redfish, { bmc: 'fe80::1', bmcusername: 'u', bmcpassword: 'p' })).toMatchObject({
      device: 'redfish fe80::1:',
      width: 1,
      access: { node: 'n', address: 'fe80::1', username: 'u', password: 'p' },
    });
  });

  it('leaves no session behind, and no address was guessed', async () => {
    for (let index = 0; index < lab.addresses.length; index++) expect((await lab.state(index)).missed).toEqual([]);
    await redfish.close();
    await openBmc.close();
    expect(await lab.openSessions()).toBe(0);
  });
});
