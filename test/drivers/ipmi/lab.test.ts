import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Capabilities } from '../../../src/drivers/capabilities.ts';
import type { Driver } from '../../../src/drivers/driver.ts';
import { ipmiDriver } from '../../../src/drivers/ipmi/index.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { type BmcLab, startBmcs } from '../../lab/bmc.ts';
import { freeipmi } from './freeipmi.ts';
import { ipmitool as runIpmitool } from './ipmitool.ts';

/** What we set is read back by foreign tools, and what they set by us. */

const account = labAccounts.administrator;
const { signal } = new AbortController();
let lab: BmcLab;
let driver: Driver;

beforeAll(async () => {
  lab = await startBmcs({ count: 3, prefix: '127.30' });
  driver = ipmiDriver({
    powerTimeout: 10_000,
    addressTimeout: 100,
    cycleSettling: 0,
  });
});

afterAll(async () => {
  await driver?.close();
  await lab?.stop();
});

function node(index: number): Required<Omit<Capabilities, 'subnodes'>> {
  const address = lab.addresses[index]!;
  return driver.connect({ node: `n${index}`, address, port: undefined, ...account }) as Required<
    Omit<Capabilities, 'subnodes'>
  >;
}

const ipmitool = (index: number, command: string) => runIpmitool(lab.addresses[index]!, account, ...command.split(' '));
const freely = (index: number, tool: string, ...args: readonly string[]) =>
  freeipmi(tool, lab.addresses[index]!, account, ...args);

describe('power', () => {
  test('each action reaches the state that ipmitool sees, and says it', async () => {
    const { power } = node(0);
    const steps = [
      ['on', 'on'],
      ['on', 'on'],
      ['reset', 'on'],
      ['cycle', 'on'],
      ['softoff', 'off'],
      ['boot', 'on'],
      ['boot', 'on'],
      ['off', 'off'],
      ['reset', 'off'],
      ['cycle', 'off'],
    ] as const;
    for (const [action, state] of steps) {
      expect([action, await power.set(action, signal)]).toEqual([action, state]);
      expect(await ipmitool(0, 'chassis power status')).toBe(`Chassis Power is ${state}\n`);
    }
    const changes = lab.state(0).changes.filter((change) => /^(power|reset|soft)=/.test(change));
    // A cycle is seen as off and on; actions that had nothing to do left no trace.
    expect(changes).toEqual([
      'power=1',
      'reset=1',
      'power=0',
      'power=1',
      'soft=1',
      'power=0',
      'power=1',
      'reset=1',
      'power=0',
    ]);
  });

  test('what ipmitool does is seen', async () => {
    await ipmitool(0, 'chassis power on');
    expect(await node(0).power.state(signal)).toBe('on');
    await ipmitool(0, 'chassis power off');
    expect(await node(0).power.state(signal)).toBe('off');
  });

  test('what the hardware has not is refused', async () => {
    const { power } = node(0);
    await expect(power.set('wake', signal)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(power.set('nmi', signal)).rejects.toMatchObject({ kind: 'invalid' });
    await power.set('on', signal);
    await expect(power.set('nmi', signal)).rejects.toThrow(/refused the power action "nmi"/);
    await power.set('off', signal);
  });
});

describe('next boot', () => {
  test.each([
    ['net', false, undefined, 'Network', ['Force PXE', 'only next boot', 'legacy']],
    ['hd', true, undefined, 'Hard Drive', ['Force Boot from default Hard-Drive', 'all future boots', 'legacy']],
    ['cd', true, 'uefi', 'CD/DVD', ['Force Boot from CD/DVD', 'all future boots', 'BIOS EFI boot']],
    ['floppy', false, 'legacy', 'Floppy', ['Force Boot from Floppy', 'only next boot', 'legacy']],
    ['setup', false, 'uefi', 'BIOS Setup', ['Force Boot into BIOS Setup', 'only next boot', 'BIOS EFI boot']],
  ] as const)('%s, persistent %s, mode %s', async (order, persistent, mode, text, facts) => {
    const { nextBoot } = node(0);
    expect(await nextBoot.set(order, { persistent, mode }, signal)).toBe(text);
    const seen = await ipmitool(0, 'chassis bootparam get 5');
    for (const fact of ['Boot Flag Valid', ...facts]) expect(seen).toContain(fact);
    expect(await nextBoot.get(signal)).toBe(text);
  });

  test('the clearing after 60 s is off, and the lock free', async () => {
    expect(await ipmitool(0, 'raw 0x00 0x09 0x03 0x00 0x00')).toBe(' 01 03 08\n');
    expect(await ipmitool(0, 'raw 0x00 0x09 0x00 0x00 0x00')).toBe(' 01 00 00\n');
  });

  test('def takes the override back', async () => {
    const { nextBoot } = node(0);
    expect(await nextBoot.set('def', { persistent: false, mode: undefined }, signal)).toBe('boot override inactive');
    expect(await ipmitool(0, 'chassis bootparam get 5')).toContain('Boot Flag Invalid');
    expect(await node(1).nextBoot.get(signal)).toBe('boot override inactive');
  });

  test('what ipmitool sets is seen, and used up by a start', async () => {
    await ipmitool(0, 'chassis bootdev cdrom options=efiboot');
    expect(await node(0).nextBoot.get(signal)).toBe('CD/DVD');
    await node(0).power.set('on', signal);
    expect(await node(0).nextBoot.get(signal)).toBe('boot override inactive');
    await node(0).power.set('off', signal);
  });
});

describe('vitals', () => {
  test('all, with the labels and values of the reference system', async () => {
    const all = await node(0).vitals.read([], signal);
    expect(all).toMatchObject({
      Fan1: '6000 RPM',
      Fan2: '6060 RPM',
      'Inlet Temp': '20 C (68 F)',
      'CPU1 Temp': '40 C (104 F)',
      '12V Rail': '11.94 Volts',
      'Sys Power': '160 Watts (546 BTUs/hr)',
      'Power Status': 'off',
      'PSU1 Status': 'Presence Detected',
    });
    expect(Object.hasOwn(all, 'Message')).toBe(false);
  });

  test.each([
    [['temp'], { 'Inlet Temp': '21 C (70 F)', 'CPU1 Temp': '41 C (106 F)' }],
    [['fanspeed'], { Fan1: '6060 RPM', Fan2: '6120 RPM' }],
    [['voltage'], { '12V Rail': '12 Volts' }],
    [['wattage'], { 'Sys Power': '164 Watts (560 BTUs/hr)' }],
    [['current'], { Message: ['No current sensors found in system'] }],
    [['power'], { 'Power Status': 'off' }],
    [['leds'], { Message: ['No supported LEDs found in system'] }],
    [['temp', 'power'], { 'Power Status': 'off', 'Inlet Temp': '21 C (70 F)', 'CPU1 Temp': '41 C (106 F)' }],
  ] as const)('%j', async (kinds, labels) => {
    expect(await node(1).vitals.read(kinds, signal)).toEqual(labels);
  });

  test('the chassis has all its labels', async () => {
    expect(await node(1).vitals.read(['chassis'], signal)).toEqual({
      'Power Status': 'off',
      'Power Overload': 'false',
      'Power Interlock': 'inactive',
      'Power Fault': 'false',
      'Power Control Fault': 'false',
      'Power Restore Policy': 'Always off',
      'Last Power Event': 'none',
      'Chassis intrusion': 'inactive',
      'Front Panel Lockout': 'inactive',
      'Drive Fault': 'false',
      'Cooling Fault': 'false',
      'Identify Light': 'off',
    });
    await ipmitool(1, 'chassis policy always-on');
    expect(await node(1).vitals.read(['chassis'], signal)).toMatchObject({ 'Power Restore Policy': 'Always on' });
  });

  test('a changed reading is seen', async () => {
    await lab.set(1, 1, 33);
    expect(await node(1).vitals.read(['temp'], signal)).toMatchObject({ 'Inlet Temp': '33 C (91 F)' });
    await lab.set(1, 1, 52);
    expect(await node(1).vitals.read(['temp'], signal)).toMatchObject({ 'Inlet Temp': '52 C (126 F), Upper Critical' });
    await lab.set(1, 1, 33);
  });
});

describe('inventory', () => {
  test('all, with the labels of the reference system', async () => {
    const guid = /System GUID\s*: (\S+)/.exec(await ipmitool(0, 'mc guid'))?.[1]?.toUpperCase();
    expect(await node(0).inventory.read([], signal)).toEqual({
      'System Manufacturer': 'Lab Systems',
      'System Description': 'LabServer 1000',
      'System Model/MTM': '7X00LAB',
      'System Revision': 'A1',
      'System Serial Number': 'SN000000',
      'System Asset Number': 'ASSET000000',
      'Chassis Serial Number': 'CH000000',
      'Chassis Part Number': 'LABCHAS-1',
      'Board manufacturer': 'Lab Systems',
      'Board manufacture date': '08/01/2022 21:52:00',
      'Board Description': 'LAB-MB-X1',
      'Board Serial Number': 'MB000000',
      'Board Model Number': 'PN-100-200',
      'Manufacturer ID': 'IBM (20301)',
      'Product ID': '258',
      'Device ID': '0',
      'BMC Firmware': '2.15',
      'UUID/GUID': guid,
    });
  });

  const model = {
    'System Description': 'LabServer 1000',
    'System Model/MTM': '7X00LAB',
    'Chassis Part Number': 'LABCHAS-1',
  };
  const serial = { 'System Serial Number': 'SN000001', 'Chassis Serial Number': 'CH000001' };
  test.each([
    [['model'], model],
    [['serial'], serial],
    [['model', 'serial'], { ...model, ...serial }],
    [['asset'], { 'System Asset Number': 'ASSET000001' }],
    [['firm'], { 'BMC Firmware': '2.15' }],
    [['mprom'], { 'BMC Firmware': '2.15' }],
    [['deviceid'], { 'Manufacturer ID': 'IBM (20301)', 'Product ID': '258', 'Device ID': '0' }],
    [['dimm'], { Message: ['No dimm information found in system'] }],
  ] as const)('%j', async (kinds, labels) => {
    expect(await node(1).inventory.read(kinds, signal)).toEqual(labels);
  });
});

describe('event log', () => {
  test('entries as the reference system prints them', async () => {
    const lines = await node(2).eventLog.read(signal);
    const upTime = expect.stringMatching(/^BMC Uptime +\d+ s /) as string;
    expect(lines).toEqual([upTime, upTime]);
    expect(lines.map((line) => line.replace(/^BMC Uptime +\d+ s /, ''))).toEqual([
      'Power Supply, Presence Detected (PSU1 Status)',
      'Temperature, Upper Critical - going high (CPU1 Temp reading 97 C (207 F) with threshold 95 C (203 F))',
    ]);
  });

  test('new events are seen, and cleared entries are gone for other tools too', async () => {
    await ipmitool(2, 'sel time set now');
    await lab.set(2, 2, 100, true);
    const lines = await node(2).eventLog.read(signal);
    expect(lines.at(-1)).toMatch(
      /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d Temperature, Upper Critical - going high \(CPU1 Temp/,
    );
    await node(2).eventLog.clear(signal);
    expect(await node(2).eventLog.read(signal)).toEqual([]);
    expect(await ipmitool(2, 'sel info')).toMatch(/Entries +: 0/);
    expect(await freely(2, 'ipmi-sel', '--info')).toMatch(/Number of log entries +: 0/);
  });
});

test('the beacon', async () => {
  const { beacon } = node(1);
  for (const [action, light] of [
    ['on', 'on'],
    ['off', 'off'],
    ['blink', 'timed'],
    ['off', 'off'],
  ] as const) {
    await beacon.set(action, signal);
    expect(lab.state(1).identify).toBe(light);
    expect(await beacon.state?.(signal)).toBe(action);
  }
  await ipmitool(1, 'chassis identify force');
  expect(await beacon.state?.(signal)).toBe('on');
});

describe('energy', () => {
  test('all attributes, with their units', async () => {
    const all = await node(1).energy.read([], signal);
    expect(all).toMatchObject({
      cappingstatus: 'off',
      cappingmin: 'na',
      cappingmax: 'na',
      averageAC: expect.stringMatching(/^\d+ W$/) as string,
      ambienttemp: expect.stringMatching(/^\d+ C$/) as string,
      'Current Power': expect.stringMatching(/^\d+ Watts$/) as string,
      'Power Measurement': 'Active',
    });
  });

  test('limits that ipmitool and freeipmi read back', async () => {
    const { energy } = node(1);
    await energy.set('cappingvalue', '250W', signal);
    await energy.set('cappingstatus', 'on', signal);
    const seen = await ipmitool(1, 'dcmi power get_limit');
    expect(seen).toMatch(/Power Limit Active/);
    expect(seen).toMatch(/Power Limit: +250 Watts/);
    expect(await freely(1, 'ipmi-dcmi', '--get-power-limit')).toMatch(/Power Limit Requested +: 250 watts/);
    await energy.set('cappingvalue', '775', signal);
    expect(await energy.read(['cappingvalue', 'cappingstatus'], signal)).toEqual({
      cappingvalue: '775 W',
      cappingstatus: 'on',
    });
    await energy.set('cappingstatus', 'off', signal);
    expect(await ipmitool(1, 'dcmi power get_limit')).toMatch(/No Active Power Limit/);
  });

  test('bounds are checked here, and the hardware refuses in words what only it knows', async () => {
    const changes = lab.state(1).changes.length;
    const { energy } = node(1);
    await expect(energy.set('cappingvalue', '70000', signal)).rejects.toThrow(/not between 1 W and 65535 W/);
    expect(lab.state(1).changes).toHaveLength(changes);
    await expect(energy.set('cappingvalue', '20', signal)).rejects.toThrow(/out of the range it can keep/);
  });
});

describe('BMC', () => {
  test.each([
    ['ip', { 'BMC IP': '127.30.0.1' }],
    ['netmask', { 'BMC Netmask': '255.0.0.0' }],
    ['gateway', { 'BMC Gateway': '0.0.0.0' }],
    ['backupgateway', { 'BMC Backup Gateway': '0.0.0.0' }],
    ['vlan', { Message: ['BMC VLAN disabled'] }],
    ['community', { 'SP SNMP Community': 'public' }],
    ['alert', { 'SP Alerting': 'disabled' }],
  ])('%s is labelled as the reference system does', async (attribute, labels) => {
    expect(await node(0).serviceProcessor.get(attribute, signal)).toEqual(labels);
  });

  test('settings that ipmitool reads back', async () => {
    const { serviceProcessor } = node(2);
    const settings = { netmask: '255.255.0.0', gateway: '127.30.0.254', backupgateway: '127.30.0.253', vlan: '17' };
    await serviceProcessor.set({ ...settings, alert: 'on', hostname: 'bmc-of-a-node.rack-1.example' }, signal);
    const seen = await ipmitool(2, 'lan print 1');
    expect(seen).toMatch(/Subnet Mask +: 255\.255\.0\.0/);
    expect(seen).toMatch(/Default Gateway IP +: 127\.30\.0\.254/);
    expect(seen).toMatch(/Backup Gateway IP +: 127\.30\.0\.253/);
    expect(seen).toMatch(/802.1q VLAN ID +: 17/);
    expect(seen).toMatch(/Set in Progress +: Set Complete/);
    expect(await ipmitool(2, 'dcmi get_mc_id_string')).toContain('bmc-of-a-node.rack-1.example');
    expect(await serviceProcessor.get('hostname', signal)).toEqual({ 'BMC Hostname': 'bmc-of-a-node.rack-1.example' });
    expect(await serviceProcessor.get('alert', signal)).toEqual({ 'SP Alerting': 'enabled' });
    await serviceProcessor.set({ alert: 'off', vlan: 'off' }, signal);
    expect(await serviceProcessor.get('alert', signal)).toEqual({ 'SP Alerting': 'disabled' });
    expect(await ipmitool(2, 'lan print 1')).toMatch(/802.1q VLAN ID +: Disabled/);
  });

  test('what ipmitool sets is seen', async () => {
    await ipmitool(2, 'lan set 1 netmask 255.255.255.0');
    expect(await node(2).serviceProcessor.get('netmask', signal)).toEqual({ 'BMC Netmask': '255.255.255.0' });
  });

  test('a new user can log in', async () => {
    await node(2).serviceProcessor.set({ userid: '5', username: 'fred', password: 'sixteen-bytes-pw' }, signal);
    expect(await ipmitool(2, 'user list 1')).toMatch(/^5 +fred .*ADMINISTRATOR/m);
    const fred = { username: 'fred', password: 'sixteen-bytes-pw' };
    expect(await runIpmitool(lab.addresses[2]!, fred, 'chassis', 'power', 'status')).toBe('Chassis Power is off\n');
  });

  test('an address is moved, and the move reported when nobody answers there', { timeout: 60_000 }, async () => {
    await expect(node(2).serviceProcessor.set({ ip: '127.30.99.99' }, signal)).rejects.toThrow(
      /asked to use the address 127\.30\.99\.99 but does not answer there/,
    );
    expect(await ipmitool(2, 'lan print 1')).toMatch(/IP Address +: 127\.30\.99\.99/);
    await node(2).serviceProcessor.set({ ip: lab.addresses[2]! }, signal);
    expect(await ipmitool(2, 'lan print 1')).toMatch(/IP Address +: 127\.30\.0\.3/);
  });
});
