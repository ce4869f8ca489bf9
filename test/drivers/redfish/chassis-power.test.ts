import { describe, expect, it } from 'vitest';
import { redfishCapabilities } from '../../../src/drivers/redfish/index.ts';
import { Unreachable } from '../../../src/core/errors.ts';
import { type Tree, treeTarget } from './tree.ts';

const signal = new AbortController().signal;
const link = (path: string) => ({ '@odata.id': path });
const reset = {
  '#Chassis.Reset': { target: '/reset', 'ResetType@Redfish.AllowableValues': ['On', 'ForceOff', 'PowerCycle'] },
};

/** Two sleds of an enclosure, each with a system. */
const sleds = (): Tree => ({
  '/redfish/v1/': { Systems: link('/systems'), Chassis: link('/chassis') },
  '/systems': { Members: [link('/systems/1'), link('/systems/2')] },
  '/systems/1': { Id: 'S1', PowerState: 'On', Links: { Chassis: [link('/chassis/a')] } },
  '/systems/2': { Id: 'S2', SerialNumber: 'SN2', PowerState: 'On', Links: { Chassis: [link('/chassis/b')] } },
  '/chassis': { Members: [link('/chassis/box'), link('/chassis/a'), link('/chassis/b')] },
  '/chassis/box': { Id: 'Box', PowerState: 'On', Links: { Contains: [link('/chassis/a'), link('/chassis/b')] } },
  '/chassis/a': {
    Id: 'SlotA',
    PowerState: 'On',
    Links: { ContainedBy: link('/chassis/box'), ComputerSystems: [link('/systems/1')] },
  },
  '/chassis/b': { Id: 'SlotB', Links: { ContainedBy: link('/chassis/box'), ComputerSystems: [link('/systems/2')] } },
});

const chassisOf = (tree: Tree, ordered?: () => void) => {
  const made = treeTarget(tree, { wantedSystem: 'S1', ...(ordered ? { ordered } : {}) });
  return { ...made, chassis: redfishCapabilities(made.target).power.chassis! };
};

describe('the chassis of a node', () => {
  it('is its own slot, with no other machine in it, where that can be switched', async () => {
    const tree = sleds();
    for (const path of ['/chassis/a', '/chassis/box']) tree[path]!['Actions'] = reset;
    const { chassis, orders } = chassisOf(tree, () => void (tree['/chassis/a']!['PowerState'] = 'Off'));
    const seen: unknown[] = [];
    expect(await chassis.state(signal)).toEqual({ id: 'SlotA', power: 'on' });
    expect(await chassis.set('off', (contents) => void seen.push(contents), signal)).toEqual({
      id: 'SlotA',
      power: 'off',
    });
    expect(seen).toEqual([{ id: 'SlotA', power: 'on', others: [] }]);
    expect(orders).toEqual([['/reset', { ResetType: 'ForceOff' }]]);
    expect(await chassis.set('off', () => undefined, signal)).toEqual({ id: 'SlotA', power: 'off' });
    expect(orders).toHaveLength(1);
  });

  it('is else the enclosure, with the machines that are in it, and nothing is sent if they are refused', async () => {
    const tree = sleds();
    tree['/chassis/box']!['Actions'] = reset;
    const { chassis, orders } = chassisOf(tree);
    const refusing = chassis.set(
      'reset',
      ({ id, others }) => {
        throw new Error(`${id}: ${JSON.stringify(others)}`);
      },
      signal,
    );
    await expect(refusing).rejects.toThrow('Box: [{"id":"S2","names":["S2","SN2"]}]');
    expect(orders).toEqual([]);
    expect(await chassis.set('reset', () => undefined, signal)).toEqual({ id: 'Box', power: 'on' });
    expect(orders).toEqual([['/reset', { ResetType: 'PowerCycle' }]]);
  });

  it('has sleds in it of which there is no system, but no empty slots', async () => {
    const tree = sleds();
    tree['/chassis/box']!['Actions'] = reset;
    tree['/systems'] = { Members: [link('/systems/1')] };
    tree['/chassis/b'] = { Id: 'SlotB', ChassisType: 'Sled', SerialNumber: 'SLB', Links: {} };
    const others = async () => {
      let found: unknown;
      await chassisOf(tree).chassis.set('reset', (contents) => void (found = contents.others), signal);
      return found;
    };
    expect(await others()).toEqual([{ id: 'SlotB', names: ['SlotB', 'SLB'] }]);
    tree['/chassis/b']['Status'] = { State: 'Absent' };
    expect(await others()).toEqual([]);
  });

  it('that cannot be switched is refused, and so is what it cannot do', async () => {
    await expect(chassisOf(sleds()).chassis.state(signal)).rejects.toThrow('no chassis, slot or sled');
    const tree = sleds();
    tree['/chassis/a']!['Actions'] = {
      '#Chassis.Reset': { target: '/reset', 'ResetType@Redfish.AllowableValues': ['PowerCycle'] },
    };
    const { chassis, orders } = chassisOf(tree);
    await expect(chassis.set('off', () => undefined, signal)).rejects.toThrow('chassis action off; it has PowerCycle');
    expect(orders).toEqual([]);
  });

  it('takes an order once, whatever becomes of the answer', async () => {
    const tree = sleds();
    tree['/chassis/a']!['Actions'] = reset;
    const dies = (off: boolean) => () => {
      if (off) tree['/chassis/a']!['PowerState'] = 'Off';
      throw new Unreachable('its BMC has gone.');
    };
    const lost = chassisOf(tree, dies(false));
    await expect(lost.chassis.set('off', () => undefined, signal)).rejects.toThrow(
      'chassis SlotA is on instead of off',
    );
    expect(lost.orders).toHaveLength(1);
    const done = chassisOf(tree, dies(true));
    expect(await done.chassis.set('off', () => undefined, signal)).toEqual({ id: 'SlotA', power: 'off' });
    expect(done.orders).toHaveLength(1);
  });
});
