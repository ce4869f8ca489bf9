import { describe, expect, it } from 'vitest';
import { redfishCapabilities } from '../../../src/drivers/redfish/index.ts';
import { treeOfGpus } from '../../lab/redfish/tree-of-gpus.ts';
import { serverTree, type Tree, treeTarget } from './tree.ts';

const signal = new AbortController().signal;
const link = (path: string) => ({ '@odata.id': path });

describe('a machine with accelerators', () => {
  it('has the readings of all its chassis, names told apart by chassis', async () => {
    const { vitals } = redfishCapabilities(treeTarget(treeOfGpus(3)).target);
    expect(await vitals.read([], signal)).toEqual({
      'BMC Temp': '31 C (88 F)',
      'TEMP 0 (Board_GPU_0)': '50 C (122 F)',
      'TEMP 0 (Board_GPU_1)': '51 C (124 F)',
      'TEMP 0 (Board_GPU_2)': '52 C (126 F)',
      'Feed Power': '530 Watts (1808 BTUs/hr)',
      'Fan 1 Front': '6000 RPM',
      'Fan PWM': '30 %',
      'Feed Input': '9.5 Amps',
      'Board GPU 0 Energy 0': '1000 J',
      'Board GPU 1 Energy 0': '1001 J',
      'Board GPU 2 Energy 0': '1002 J',
      'Air Pressure': '101300 Pa',
      'Core Util': '6.5 %',
      'Power Status': 'on',
    });
    expect(await vitals.read(['current'], signal)).toEqual({ 'Feed Input': '9.5 Amps' });
  });

  it('is asked for its chassis at once, and for each that links to readings', async () => {
    const { target, asked } = treeTarget(treeOfGpus(8));
    const { vitals } = redfishCapabilities(target);
    await vitals.read(['temp'], signal);
    expect(asked.splice(0)).toHaveLength(2 + 12);
    await vitals.read(['temp'], signal);
    expect(asked.filter((path) => !path.includes('/Sensors'))).toEqual(['/redfish/v1/Chassis?$expand=.($levels=1)']);
    expect(asked).not.toContainEqual(expect.stringMatching(/Spare_0|RoT_0/));
  });

  it('shows its accelerators in the inventory, and is switched by its host', async () => {
    const tree = treeOfGpus(2);
    // Newer firmware lets the board be reset by itself.
    tree['/redfish/v1/Systems/HGX_Baseboard_0']!['Actions'] = { '#ComputerSystem.Reset': { target: '/board/Reset' } };
    const { target, orders } = treeTarget(tree, {
      ordered: () => void (tree['/redfish/v1/Systems/Host_0']!['PowerState'] = 'Off'),
    });
    const { inventory, power, energy, subnodes } = redfishCapabilities(target);
    expect(await inventory.read(['cpu', 'gpu'], signal)).toEqual({
      'CPU 1 Model': 'Core 9',
      'GPU 1 Location': 'Board_GPU_0',
      'GPU 1 Model': 'Accelerator 3',
      'GPU 1 Serial Number': 'G0',
      'GPU 2 Location': 'Board_GPU_1',
      'GPU 2 Model': 'Accelerator 3',
      'GPU 2 Serial Number': 'G1',
    });
    expect(await power.set('off', signal)).toBe('off');
    expect(orders.map(([path]) => path)).toEqual(['/redfish/v1/Systems/Host_0/Reset']);
    // The limit of the board is not that of the node.
    await expect(energy.set('cappingvalue', '300', signal)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await subnodes.list(signal)).not.toHaveProperty('n1-HGX_Baseboard_0');
  });

  it('shows what the whole machine draws, which the chassis of its system does not', async () => {
    const { energy } = redfishCapabilities(treeTarget(treeOfGpus(2)).target);
    expect(await energy.read([], signal)).toMatchObject({
      powerusage: '1073.2 W',
      averageAC: 'na',
      cappingstatus: 'na',
    });
  });

  it('is read without a chassis that the service cannot show', async () => {
    const tree = treeOfGpus(2);
    delete tree['/redfish/v1/']!['ProtocolFeaturesSupported'];
    const { vitals } = redfishCapabilities(treeTarget(tree, { broken: ['/redfish/v1/Chassis/Board_GPU_1'] }).target);
    for (const time of ['first', 'second'])
      expect(Object.keys(await vitals.read(['temp'], signal)), time).toEqual(['BMC Temp', 'TEMP 0']);
  });

  it('is read without a chassis that the service cannot show any more among many', async () => {
    const tree = treeOfGpus(4);
    const broken: string[] = [];
    const { vitals } = redfishCapabilities(treeTarget(tree, { broken }).target);
    const { 'TEMP 0 (Board_GPU_1)': gone, ...others } = await vitals.read(['temp'], signal);
    expect(gone).toBe('51 C (124 F)');
    broken.push('/redfish/v1/Chassis/Board_GPU_1');
    // The list has no more than a link to it.
    delete tree['/redfish/v1/Chassis/Board_GPU_1'];
    expect(await vitals.read(['temp'], signal)).toEqual(others);
  });

  it('shares nothing with another node of the same service', async () => {
    const tree = treeOfGpus(1);
    tree['/redfish/v1/Systems']!['Members'] = ['HGX_Baseboard_0', 'Host_0', 'Host_1'].map((id) =>
      link(`/redfish/v1/Systems/${id}`),
    );
    tree['/redfish/v1/Systems/Host_1'] = {
      ...tree['/redfish/v1/Systems/Host_0'],
      '@odata.id': '/redfish/v1/Systems/Host_1',
      Id: 'Host_1',
      Links: { Chassis: [link('/redfish/v1/Chassis/Sled_1')] },
    };
    const sled = (Contains: string[], ComputerSystems: string[], more = {}) => ({
      Links: { ComputerSystems: ComputerSystems.map(link), Contains: Contains.map(link), ...more },
    });
    const around = { ContainedBy: link('/redfish/v1/Chassis/Slot_1') };
    tree['/redfish/v1/Chassis/Sled_1'] = sled([], ['/redfish/v1/Systems/Host_1'], around);
    const slot = sled(['/redfish/v1/Chassis/Sled_1'], [], { ContainedBy: link('/redfish/v1/Chassis/Shelf_1') });
    const readings = (id: string, value: number): void => {
      tree[`/redfish/v1/Chassis/${id}`]!['Sensors'] = link(`/${id}`);
      tree[`/${id}`] = {
        Members: [
          { '@odata.id': `/${id}/1`, Name: id, ReadingType: 'Temperature', ReadingUnits: 'Cel', Reading: value },
        ],
      };
    };
    tree['/redfish/v1/Chassis/Slot_1'] = slot;
    tree['/redfish/v1/Chassis/Shelf_1'] = sled(['/redfish/v1/Chassis/Slot_1', '/redfish/v1/Chassis/BMC_0'], []);
    for (const [id, value] of [
      ['Sled_1', 20],
      ['Slot_1', 21],
      ['Shelf_1', 22],
    ] as const)
      readings(id, value);
    const { vitals } = redfishCapabilities(treeTarget(tree, { wantedSystem: 'Host_1' }).target);
    // The slot has no other node in it, the shelf has.
    expect(await vitals.read(['temp'], signal)).toEqual({ Sled_1: '20 C (68 F)', Slot_1: '21 C (70 F)' });
  });
});

describe('readings in several places', () => {
  const chassis = '/redfish/v1/Chassis/C';

  function treeOfBoth(sensors: readonly Record<string, unknown>[]): Tree {
    const tree = serverTree();
    Object.assign(tree[chassis]!, { Thermal: link('/thermal'), Power: link('/power'), Sensors: link('/sensors') });
    tree['/thermal'] = {
      Temperatures: [
        { Name: 'CPU1 Temp', ReadingCelsius: 40 },
        { Name: 'CPU2 Temp', ReadingCelsius: null },
        { Name: 'Card', ReadingCelsius: 33 },
        { Name: 'Card', ReadingCelsius: 34 },
      ],
    };
    tree['/power'] = { Voltages: [{ Name: '12V', ReadingVolts: 12 }] };
    tree['/sensors'] = { Members: sensors.map((one, index) => ({ '@odata.id': `/sensors/${index}`, ...one })) };
    return tree;
  }

  const read = (tree: Tree, kind: 'temp' | 'voltage' | 'wattage' | 'current' | 'fanspeed' | 'other') =>
    redfishCapabilities(treeTarget(tree).target).vitals.read([kind], signal);

  it('are shown once by name, with what only one place has', async () => {
    const celsius = { ReadingType: 'Temperature', ReadingUnits: 'Cel' };
    const tree = treeOfBoth([
      { ...celsius, Id: 'cpu1', Name: 'CPU1_Temp', Reading: 41 },
      { ...celsius, Id: 'cpu2', Name: 'CPU2 Temp', Reading: 42 },
      { ...celsius, Id: 'NIC.1-T1', Name: 'Temp Sensor.1', Reading: 51 },
      { ...celsius, Id: 'NIC.2-T1', Name: 'Temp Sensor.1', Reading: 52 },
      { ReadingUnits: 'Cel', Name: 'DIMM #1', Reading: 44 },
      { ...celsius, Name: 'Slot 3', Reading: 60, Status: { State: 'Absent' } },
      { ReadingType: 'Voltage', ReadingUnits: 'V', Name: 'PSU1 Input', Reading: 230 },
    ]);
    expect(await read(tree, 'temp')).toEqual({
      'CPU1 Temp': '40 C (104 F)',
      'CPU2 Temp': '42 C (108 F)',
      'Card #1': '33 C (91 F)',
      'Card #2': '34 C (93 F)',
      'Temp Sensor.1 (NIC.1-T1)': '51 C (124 F)',
      'Temp Sensor.1 (NIC.2-T1)': '52 C (126 F)',
      'DIMM #1': '44 C (111 F)',
    });
    expect(await read(tree, 'voltage')).toEqual({ '12V': '12 Volts', 'PSU1 Input': '230 Volts' });
  });

  it.each([
    [
      'watts that are called a current',
      { ReadingType: 'Current', ReadingUnits: 'Watts' },
      'wattage',
      '7 Watts (24 BTUs/hr)',
    ],
    ['revolutions that are called a flow', { ReadingType: 'AirFlow', ReadingUnits: 'RPM' }, 'fanspeed', '7 RPM'],
    ['a type without a unit', { ReadingType: 'Current' }, 'current', '7 Amps'],
    ['per cent of a fan', { ReadingType: 'Percent', ReadingUnits: '%', PhysicalContext: 'Fan' }, 'fanspeed', '7 %'],
    ['a frequency', { ReadingType: 'Frequency', ReadingUnits: 'Hz' }, 'other', '7 Hz'],
    ['a unit of its own', { ReadingUnits: 'CFM' }, 'other', '7 CFM'],
  ] as const)('know %s', async (_, sensor, kind, text) => {
    expect(await read(treeOfBoth([{ Name: 'It', Reading: 7, ...sensor }]), kind)).toMatchObject({ It: text });
  });

  it('do not include states that are shown as numbers', async () => {
    const state = { Name: 'Over temperature', ReadingType: 'Temperature', ReadingUnits: '', Reading: 0 };
    const tree = treeOfBoth([state, { Name: 'Presence', Reading: 0 }]);
    expect(await read(tree, 'temp')).not.toHaveProperty('Over temperature');
    expect(await read(tree, 'other')).toEqual({ Message: ['No other sensors found in system'] });
  });

  it('of a chassis are shown once if the one around it lists them too', async () => {
    const tree = treeOfBoth([]);
    const celsius = { ReadingType: 'Temperature', ReadingUnits: 'Cel' };
    tree['/redfish/v1/Chassis'] = { Members: [chassis, '/a', '/b'].map(link) };
    Object.assign(tree[chassis]!['Links'] as object, { Contains: ['/a', '/b'].map(link) });
    for (const id of ['a', 'b']) {
      tree[`/${id}`] = { Id: id, Links: { ContainedBy: link(chassis) }, Sensors: link(`/${id}/s`) };
      const members = [{ Name: id === 'a' ? 'CPU1 Temp' : 'Other' }, { Name: 'Card' }].map((one, index) => {
        return { ...celsius, ...one, '@odata.id': `/${id}/s/${index}`, Id: `${id}${index}`, Reading: 70 };
      });
      tree[`/${id}/s`] = { Members: members };
    }
    expect(Object.keys(await read(tree, 'temp'))).toEqual([
      'CPU1 Temp',
      'CPU2 Temp',
      'Card (C #1)',
      'Card (C #2)',
      'Card (a)',
      'Other',
      'Card (b)',
    ]);
  });
});
