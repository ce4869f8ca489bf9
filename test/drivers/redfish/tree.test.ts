import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import { openbmcCapabilities } from '../../../src/drivers/openbmc/index.ts';
import { openbmcSpReaders, openbmcSpWriters } from '../../../src/drivers/openbmc/service-processor.ts';
import { wattsOf } from '../../../src/drivers/redfish/energy.ts';
import { logLines, rankOf } from '../../../src/drivers/redfish/event-log.ts';
import { redfishCapabilities } from '../../../src/drivers/redfish/index.ts';
import { redfishServiceProcessor } from '../../../src/drivers/redfish/service-processor.ts';
import { isNetmask } from '../../../src/drivers/redfish/sp-network.ts';
import { pickSystem } from '../../../src/protocols/redfish/node-resources.ts';
import { serverTree, type Tree, treeTarget } from './tree.ts';

const signal = new AbortController().signal;
const system = '/redfish/v1/Systems/S';
const chassis = '/redfish/v1/Chassis/C';
const manager = '/redfish/v1/Managers/M';
/** Whoever looks sees the power state before, and then the one after. */
function changesWhenSeen(tree: Tree, before: string, after: string): void {
  let looks = 0;
  const get = (): string => (looks++ === 0 ? before : after);
  Object.defineProperty(tree[system], 'PowerState', { get, enumerable: true, configurable: true });
}
const fault = (sentence: RegExp) =>
  expect.objectContaining({ kind: 'invalid', message: expect.stringMatching(sentence) });

describe('power', () => {
  it('takes the reset types from the action info and says which actions there are', async () => {
    const { target, tree, orders } = treeTarget(serverTree(), {
      ordered: (_, body) => {
        const { ResetType } = body as { ResetType: string };
        tree[system]!['PowerState'] = ResetType === 'On' ? 'On' : 'Off';
      },
    });
    const { power } = redfishCapabilities(target);
    await expect(power.set('reset', signal)).rejects.toEqual(
      fault(/no power action reset; it has on, off, softoff, cycle\./),
    );
    expect(await power.set('softoff', signal)).toBe('off');
    expect(await power.set('on', signal)).toBe('on');
    expect(await power.set('cycle', signal)).toBe('on');
    expect(orders.map(([, body]) => (body as { ResetType: string }).ResetType)).toEqual([
      'PushPowerButton',
      'On',
      'ForceOff',
      'On',
    ]);
  });

  it('sends an order whose answer is lost only once, and goes by the state', async () => {
    const lost = new Fault('unavailable', 'the connection broke.');
    const { target, tree, orders } = treeTarget(serverTree(), {
      ordered() {
        changesWhenSeen(tree, 'On', 'Off');
        throw lost;
      },
    });
    expect(await redfishCapabilities(target).power.set('off', signal)).toBe('off');
    expect(orders).toHaveLength(1);
  });

  it('does not wait for a service a second time that fell silent at an order', async () => {
    const silent = new Unreachable('it did not answer within 30 s.');
    const { target, tree } = treeTarget(serverTree(), {
      ordered() {
        // The state cannot be read any more either.
        for (const path of Object.keys(tree)) delete tree[path];
        throw silent;
      },
    });
    await expect(redfishCapabilities(target).power.set('off', signal)).rejects.toBe(silent);
  });

  it('says what the state is when the wanted one is not reached', async () => {
    const { target, orders } = treeTarget(serverTree());
    await expect(redfishCapabilities(target).power.set('off', signal)).rejects.toMatchObject({
      kind: 'deadline',
      message: expect.stringMatching(/it is on instead of off after 0.4 s/),
    });
    expect(orders).toHaveLength(1);
  });

  it('waits for a change that is under way instead of ordering it again', async () => {
    const tree = serverTree();
    changesWhenSeen(tree, 'PoweringOff', 'Off');
    const { target, orders } = treeTarget(tree);
    expect(await redfishCapabilities(target).power.set('softoff', signal)).toBe('off');
    expect(orders).toEqual([]);
  });

  it('is that of the chassis if the system does not tell', async () => {
    const tree = serverTree();
    delete tree[system]!['PowerState'];
    tree[chassis]!['PowerState'] = 'Off';
    expect(await redfishCapabilities(treeTarget(tree).target).power.state(signal)).toBe('off');
  });
});

describe('one of several systems', () => {
  const reset = { Actions: { '#ComputerSystem.Reset': {} } };
  const systems = (...bodies: Record<string, unknown>[]) =>
    bodies.map((body, i) => ({ path: `/${i}`, body, etag: undefined }));
  it.each([
    ['the only one', systems({}), '/0'],
    ['that with the name of the node', systems({ Id: '1', ...reset }, { HostName: 'N1', ...reset }), '/1'],
    [
      'the only physical one with a reset',
      systems({ SystemType: 'OS', ...reset }, { SystemType: 'Physical', ...reset }, {}),
      '/1',
    ],
    ['none if it is not sure', systems({ Id: 'a', ...reset }, { Id: 'b', ...reset }), undefined],
    ['none if two have the name', systems({ Id: 'n1', ...reset }, { Name: 'n1', ...reset }), undefined],
    ['none of none', systems(), undefined],
  ])('is %s', (_, list, path) => expect(pickSystem(list, { node: 'n1' })?.path).toBe(path));

  it.each([
    ['its Id', 'b', '/1'],
    ['its serial number', 'sn-1', '/0'],
    ['its UUID', 'U-B', '/1'],
    ['nothing of any', 'c', undefined],
    ['what two have', 'same', undefined],
  ])('is that of which bmcsystem is %s', (_, meant, path) => {
    const list = systems(
      { Id: 'a', SerialNumber: 'SN-1', UUID: 'same', HostName: 'n1' },
      { Id: 'B', SerialNumber: 'same', UUID: 'u-b' },
    );
    expect(pickSystem(list, { node: 'n1', system: meant })?.path).toBe(path);
  });

  it('is an error that lists them if bmcsystem is none of them', async () => {
    const { vitals } = redfishCapabilities(treeTarget(serverTree(), { wantedSystem: 'X' }).target);
    await expect(vitals.read([], signal)).rejects.toEqual(
      fault(/1 computer systems \(S\) and its attribute bmcsystem, "X"/),
    );
  });

  it('has the readings of its own chassis alone, with what that contains', async () => {
    const tree = serverTree();
    tree['/redfish/v1/Systems'] = { Members: [{ '@odata.id': system }, { '@odata.id': '/t' }] };
    tree['/t'] = { ...tree[system]!, Id: 'T' };
    tree[chassis]!['Links'] = {
      ...(tree[chassis]!['Links'] as object),
      Contains: ['/gpu', '/other'].map((path) => ({ '@odata.id': path })),
    };
    tree['/redfish/v1/Chassis'] = {
      Members: ['/redfish/v1/Chassis/Rack', chassis, '/gpu', '/other'].map((path) => ({ '@odata.id': path })),
    };
    tree['/gpu'] = { Id: 'GPU', Sensors: { '@odata.id': '/gpu/s' } };
    tree['/gpu/s'] = { Members: [{ '@odata.id': '/gpu/s/1', Name: 'GPU 1', ReadingType: 'Temperature', Reading: 50 }] };
    tree['/other'] = { ...tree['/gpu'], Id: 'O', Links: { ComputerSystems: [{ '@odata.id': '/t' }] } };
    const temperatures = async (wantedSystem: string) =>
      redfishCapabilities(treeTarget(tree, { wantedSystem }).target).vitals.read(['temp'], signal);
    expect(await temperatures('S')).toEqual({ Exhaust: '-3.25 C (26 F)', 'GPU 1': '50 C (122 F)' });
    expect(await temperatures('T')).toEqual({ 'GPU 1': '50 C (122 F)' });
    delete tree['/other']['Links'];
    expect(await temperatures('T')).toEqual({ Message: ['No temp sensors found in system'] });
  });

  it('is never guessed for an action', async () => {
    const tree = serverTree();
    tree['/redfish/v1/Systems'] = { Members: [{ '@odata.id': system }, { '@odata.id': '/t' }] };
    tree['/t'] = { ...tree[system]!, Id: 'T' };
    const { target, orders } = treeTarget(tree);
    await expect(redfishCapabilities(target).power.set('off', signal)).rejects.toEqual(
      fault(/2 computer systems \(S, T\).*AssetTag "n1"/),
    );
    expect(orders).toEqual([]);
  });
});

describe('readings', () => {
  it('come from wherever the chassis has them', async () => {
    const { vitals } = redfishCapabilities(treeTarget(serverTree()).target);
    expect(await vitals.read([], signal)).toEqual({
      Exhaust: '-3.25 C (26 F)',
      '5V': 'N/A',
      'Supply A Power': '210.5 Watts (718 BTUs/hr)',
      'Fan A': '40 %',
      Site: '120 m',
      'LED Identify': 'lit',
      'Power Status': 'on',
      'Power Restore Policy': 'Last State',
      'Chassis intrusion': 'active',
    });
    expect(await vitals.read(['power'], signal)).toEqual({ 'Power Status': 'on' });
    expect(await vitals.read(['energy'], signal)).toEqual({ Message: ['No energy sensors found in system'] });
    await expect(vitals.read(['nosuch' as 'temp'], signal)).rejects.toEqual(
      fault(/unknown vitals: nosuch; known are temp,/),
    );
  });

  it('make an inventory', async () => {
    const { inventory } = redfishCapabilities(treeTarget(serverTree()).target);
    expect(await inventory.read([], signal)).toEqual({
      'System Model/MTM': 'Model 1',
      'UUID/GUID': 'AA-BB',
      'BMC Firmware': '9',
      'NIC Firmware': '3.2',
      'CPU 1 Model': 'X',
      'CPU 1 Cores': '8',
      'GPU 1 Location': 'P1',
      'GPU 1 Model': 'G',
      'PCI 1': 'Maker Card',
    });
    expect(await inventory.read(['mprom'], signal)).toEqual({ Message: ['No attributes returned from the BMC.'] });
    await expect(inventory.read(['nosuch' as 'cpu'], signal)).rejects.toEqual(fault(/unknown inventory: nosuch/));
  });

  it('tell the other systems of a service, but not the one that is asked', async () => {
    const tree = serverTree();
    tree['/redfish/v1/Systems'] = { Members: [{ '@odata.id': system }, { '@odata.id': '/t' }] };
    tree['/t'] = { Id: 'T', HostName: 'n2' };
    const list = async (node: string) =>
      Object.keys(await redfishCapabilities(treeTarget(tree, { node }).target).subnodes.list(signal));
    expect(await list('n2')).toEqual(['n2-S']);
    expect(await list('S')).toEqual(['n2']);
    expect(await list('box')).toEqual(['n2']);
    delete tree[system]!['Actions'];
    expect(await list('box')).toEqual(['box-S', 'n2']);
  });

  it('tell the members of a chassis', async () => {
    expect(await redfishCapabilities(treeTarget(serverTree()).target).subnodes.list(signal)).toEqual({
      'n1-S': { type: 'system', model: 'Model 1', slot: 'Slot 4', uuid: 'aa-bb' },
    });
  });
});

describe('the event log', () => {
  it.each([
    [{ Id: 'SEL' }, 4],
    [{ Id: 'Log', LogEntryType: 'SEL' }, 4],
    [{ Id: '1', Name: 'System Event Log' }, 4],
    [{ Id: 'IML' }, 3],
    [{ Id: 'BIOS', Name: 'BIOS Log Service', LogEntryType: 'SEL' }, 1],
    [{ Id: 'x', LogEntryType: 'Multiple' }, 2],
    [{ Id: 'x' }, 1],
    [{ Id: 'Dump', LogEntryType: 'Event' }, 0],
    [{ Id: 'FaultLog' }, 0],
  ])('%o ranks %i', (log, rank) => expect(rankOf({ ...log, Entries: { '@odata.id': '/e' } })).toBe(rank));

  it('has its lines oldest first', async () => {
    const entries = [
      { Id: '10', Created: '2026-02-03T04:05:06Z', Message: 'c', Severity: 'Warning' },
      { Id: '9', Created: '2026-02-03T04:05:06+00:00', Message: 'b', Severity: 'OK' },
      { Id: '1', Created: '2025-12-31T23:59:59Z', MessageId: 'a', SensorType: 'Fan', EntryCode: 'Deassert' },
    ];
    const lines = ['12/31/2025 23:59:59 Fan, a - Recovered', '02/03/2026 04:05:06 b', '02/03/2026 04:05:06 Warning, c'];
    expect(await logLines(entries)).toEqual(lines);
    expect(await logLines([{ Message: 'b' }, {}, 7])).toEqual(['b', 'no description', 'no description']);
  });

  it('has the values of its messages in their places', async () => {
    const entry = { Message: 'Fan %1 runs at %2 of %9 (%1).', MessageArgs: ['A', 1_200] };
    expect(await logLines([entry, { Message: '5 % left' }])).toEqual(['Fan A runs at 1200 of %9 (A).', '5 % left']);
  });

  describe('of which only the newest are wanted', () => {
    const entries = `${system}/Logs/Log/E`;

    function treeOfLog(order: 'oldestFirst' | 'newestFirst', isBare: boolean): Tree {
      const tree = serverTree();
      const bodies = Array.from({ length: 9 }, (_, index) => {
        const number = order === 'oldestFirst' ? index + 1 : 9 - index;
        const Created = `2026-01-0${number}T00:00:00Z`;
        return { '@odata.id': `${entries}/${number}`, Id: String(number), Created, Message: `Event ${number}.` };
      });
      for (const body of bodies) tree[body['@odata.id']] = body;
      tree[entries] = { Members: isBare ? bodies.map((body) => ({ '@odata.id': body['@odata.id'] })) : bodies };
      return tree;
    }

    const lines = ['01/08/2026 00:00:00 Event 8.', '01/09/2026 00:00:00 Event 9.'];

    it.each(['oldestFirst', 'newestFirst'] as const)('reads no others where it can: %s', async (order) => {
      const { target, asked } = treeTarget(treeOfLog(order, true));
      expect(await redfishCapabilities(target).eventLog.read(signal, 2)).toEqual(lines);
      const read = asked.filter((path) => path.startsWith(`${entries}/`)).map((path) => path.at(-1));
      expect(new Set(read)).toEqual(new Set(['1', '8', '9']));
    });

    it.each(['oldestFirst', 'newestFirst'] as const)('asks for the end of the log: %s', async (order) => {
      const tree = treeOfLog(order, false);
      tree['/redfish/v1/']!['ProtocolFeaturesSupported'] = { TopSkipQuery: true };
      const { target, asked } = treeTarget(tree);
      expect(await redfishCapabilities(target).eventLog.read(signal, 2)).toEqual(lines);
      const last = order === 'oldestFirst' ? [`${entries}?$skip=7&$top=2`] : [];
      expect(asked.filter((path) => path.startsWith(entries))).toEqual([`${entries}?$top=2`, ...last]);
    });

    const counted = 'Members@odata.count';
    it.each<[string, (path: string) => string, (body: Record<string, unknown>) => void]>([
      ['does not skip', (path) => path.replace(/\$skip=\d+&/, ''), () => undefined],
      ['does not count', (path) => path, (body) => delete body[counted]],
      ['counts its page', (path) => path, (body) => (body[counted] = (body['Members'] as unknown[]).length)],
      [
        'counts its page, which is smaller than what was asked for',
        (path) => path.replace('$top=5', '$top=3'),
        (body) => Object.assign(body, { [counted]: 3, 'Members@odata.nextLink': `${entries}?$skip=3` }),
      ],
    ])('are those of a service that %s', async (_, understood, spoil) => {
      const tree = treeOfLog('oldestFirst', false);
      tree['/redfish/v1/']!['ProtocolFeaturesSupported'] = { TopSkipQuery: true };
      const { target } = treeTarget(tree);
      const { find } = target.service;
      target.service.find = async (path, aborted, kind) => {
        const found = await find(path && understood(path), aborted, kind);
        if (found && path?.startsWith(`${entries}?$top`)) spoil(found.body);
        return found;
      };
      const newest = [5, 6, 7, 8, 9].map((day) => `01/0${day}/2026 00:00:00 Event ${day}.`);
      expect(await redfishCapabilities(target).eventLog.read(signal, 5)).toEqual(newest);
    });
  });

  it('has the times of its events where its entries are all of one moment', async () => {
    const created = '2026-02-03T04:05:06Z';
    const entries = [
      { Id: '1', Created: created, EventTimestamp: '2026-01-01T00:00:02Z', Message: 'b' },
      { Id: '2', Created: created, EventTimestamp: '2026-01-01T00:00:01Z', Message: 'a' },
    ];
    expect(await logLines(entries)).toEqual(['01/01/2026 00:00:01 a', '01/01/2026 00:00:02 b']);
  });

  it('is the one of the manager where the system has that of its BIOS alone, and says so', async () => {
    const tree = serverTree();
    tree[`${system}/Logs/Log`]!['Id'] = 'BIOS';
    tree['/redfish/v1/Managers/M'] = { ...tree['/redfish/v1/Managers/M'], LogServices: { '@odata.id': '/m' } };
    tree['/m'] = { Members: [{ '@odata.id': '/m/SEL' }] };
    tree['/m/SEL'] = { Id: 'SEL', Entries: { '@odata.id': '/m/SEL/E' } };
    tree['/m/SEL/E'] = { Members: [{ Id: '1', Message: 'Fan failed.' }] };
    const { eventLog } = redfishCapabilities(treeTarget(tree).target);
    expect(await eventLog.read(signal)).toEqual(['Fan failed. [/m/SEL]']);
  });

  it('is empty when nothing of before is left', async () => {
    const { target, tree } = treeTarget(serverTree(), {
      ordered: () => void (tree[`${system}/Logs/Log/E`] = { Members: [{ Id: '1', Message: 'Log cleared.' }] }),
    });
    const { eventLog } = redfishCapabilities(target);
    expect(await eventLog.read(signal)).toEqual(['01/02/2026 03:04:05 Fan, It happened.']);
    await eventLog.clear(signal);
    expect(await eventLog.read(signal)).toEqual(['Log cleared.']);
  });
});

describe('what boots next', () => {
  const once = { persistent: false, mode: undefined } as const;

  it('is only what the service can', async () => {
    const { nextBoot } = redfishCapabilities(treeTarget(serverTree()).target);
    expect(await nextBoot.set('net', { persistent: true, mode: 'uefi' }, signal)).toBe('Network');
    expect(await nextBoot.set('def', once, signal)).toBe('boot override inactive');
    await expect(nextBoot.set('cd', once, signal)).rejects.toEqual(fault(/no boot source cd; it has net, hd, def\./));
    await expect(nextBoot.set('hd', { persistent: false, mode: 'legacy' }, signal)).rejects.toEqual(
      fault(/no boot mode legacy; it has UEFI\./),
    );
  });

  it('is set without a mode where the service has none, and says so', async () => {
    const tree = serverTree();
    delete (tree[system]!['Boot'] as Record<string, unknown>)['BootSourceOverrideMode'];
    const { target, patches } = treeTarget(tree);
    expect(await redfishCapabilities(target).nextBoot.set('hd', { persistent: false, mode: 'uefi' }, signal)).toBe(
      'Hard Drive (its BMC has no boot mode to set)',
    );
    expect(patches[0]![1]).toEqual({ Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Hdd' } });
  });

  it('is set where the service keeps settings, if it takes them nowhere else', async () => {
    const { target, patches } = treeTarget(serverTree(), { readOnly: [system] });
    expect(await redfishCapabilities(target).nextBoot.set('hd', once, signal)).toBe('Hard Drive');
    expect(patches.at(-1)).toEqual([
      `${system}/Settings`,
      { Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Hdd' } },
    ]);
  });
});

describe('the boot mode', () => {
  const uefi = { persistent: false, mode: 'uefi' } as const;
  const unsaid = { persistent: false, mode: undefined } as const;
  const bootOf = (tree: Tree) => tree[system]!['Boot'] as Record<string, unknown>;

  it('is not sent if it is so already: some services refuse that', async () => {
    const { target, patches } = treeTarget(serverTree());
    expect(await redfishCapabilities(target).nextBoot.set('hd', uefi, signal)).toBe('Hard Drive');
    expect(patches).toEqual([
      [system, { Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Hdd' } }],
    ]);
  });

  it('is sent with every override to services that need it', async () => {
    const tree = serverTree();
    tree[system]!['Manufacturer'] = 'Supermicro';
    const { target, patches } = treeTarget(tree);
    await redfishCapabilities(target).nextBoot.set('hd', unsaid, signal);
    expect(patches.map(([, change]) => change)).toEqual([
      { Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Hdd', BootSourceOverrideMode: 'UEFI' } },
    ]);
  });

  it('stays as it is where the service needs it, but does not list the present one', async () => {
    const tree = serverTree();
    tree[system]!['Manufacturer'] = 'Supermicro';
    bootOf(tree)['BootSourceOverrideMode'] = 'Legacy';
    const { target, patches } = treeTarget(tree);
    expect(await redfishCapabilities(target).nextBoot.set('hd', unsaid, signal)).toBe('Hard Drive');
    expect(patches.map(([, change]) => change)).toEqual([
      { Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Hdd' } },
    ]);
  });

  it('is sent again if the service has fallen back to Legacy', async () => {
    const tree = serverTree();
    const { target, patches } = treeTarget(tree);
    const { patch } = target.service;
    target.service.patch = async (resource, change, aborted) => {
      await patch(resource, change, aborted);
      const { Boot } = change as { Boot: Record<string, unknown> };
      bootOf(tree)['BootSourceOverrideMode'] = Boot['BootSourceOverrideMode'] ?? 'Legacy';
    };
    expect(await redfishCapabilities(target).nextBoot.set('hd', unsaid, signal)).toBe('Hard Drive');
    expect(patches).toHaveLength(2);
    expect(bootOf(tree)).toMatchObject({ BootSourceOverrideMode: 'UEFI', BootSourceOverrideTarget: 'Hdd' });
  });

  it('and source are seen and taken back where they wait for the next boot', async () => {
    const { target, tree, patches } = treeTarget(serverTree(), { readOnly: [system] });
    const { nextBoot } = redfishCapabilities(target);
    await nextBoot.set('hd', unsaid, signal);
    expect(await nextBoot.get(signal)).toBe('Hard Drive');
    patches.length = 0;
    expect(await nextBoot.set('def', unsaid, signal)).toBe('boot override inactive');
    expect(patches.map(([path]) => path)).toEqual([`${system}/Settings`]);
    expect(tree[`${system}/Settings`]).toMatchObject({ Boot: { BootSourceOverrideEnabled: 'Disabled' } });
    expect(await nextBoot.get(signal)).toBe('boot override inactive');
  });
});

describe('the location light', () => {
  it('is the older property where there is no newer', async () => {
    const { target, patches } = treeTarget(serverTree());
    const { beacon } = redfishCapabilities(target);
    expect(await beacon.state!(signal)).toBe('on');
    for (const action of ['blink', 'off', 'on'] as const) {
      await beacon.set(action, signal);
      expect(await beacon.state!(signal)).toBe(action);
    }
    expect(patches.map(([, change]) => change)).toEqual(
      ['Blinking', 'Off', 'Lit'].map((IndicatorLED) => ({ IndicatorLED })),
    );
  });

  /** What is patched, and how the other property follows. */
  const follow: Readonly<Record<string, (now: Record<string, unknown>, change: Record<string, unknown>) => object>> = {
    'tells shining from blinking': (_, change) =>
      'IndicatorLED' in change
        ? { LocationIndicatorActive: change['IndicatorLED'] !== 'Off' }
        : { IndicatorLED: change['LocationIndicatorActive'] ? 'Lit' : 'Off' },
    'always blinks': (_, change) => {
      const active = change['LocationIndicatorActive'] ?? change['IndicatorLED'] !== 'Off';
      return { LocationIndicatorActive: active, IndicatorLED: active ? 'Blinking' : 'Off' };
    },
    'has them apart': () => ({}),
  };

  it.each(Object.keys(follow))('with both properties reads back as it was set, where it %s', async (way) => {
    const tree = serverTree();
    Object.assign(tree[system]!, { LocationIndicatorActive: false, IndicatorLED: 'Off' });
    const { target } = treeTarget(tree);
    const { patch } = target.service;
    target.service.patch = async (resource, change, aborted) => {
      await patch(resource, change, aborted);
      Object.assign(tree[system]!, follow[way]!(tree[system]!, change as Record<string, unknown>));
    };
    const { beacon, vitals } = redfishCapabilities(target);
    const words = { on: 'lit', blink: 'blinking', off: 'off' };
    for (const action of ['on', 'off', 'blink', 'off', 'on', 'blink'] as const) {
      await beacon.set(action, signal);
      expect(await beacon.state!(signal)).toBe(action);
      const seen = await vitals.read(['leds', 'chassis'], signal);
      const light = seen['Identify Light'] as keyof typeof words;
      expect(seen['LED Identify']).toBe(words[light]);
      if (way !== 'always blinks') expect(light).toBe(action);
    }
  });
});

describe('power capping', () => {
  it.each([
    ['300', 300],
    ['300 W', 300],
    ['100', 100],
    ['0%', 100],
    ['50%', 300],
    ['100 %', 500],
  ])('%s is %i', (text, watts) => expect(wattsOf(text, { minimum: 100, maximum: 500 })).toBe(watts));

  it.each(['99', '501', '101%', '-1', '', 'x', '1e3', '0x10', 'Infinity'])('%s is refused', (text) =>
    expect(() => wattsOf(text, { minimum: 100, maximum: 500 })).toThrow(fault(/cappingvalue/)),
  );

  it('has no limit that is not one, and no capacity of nothing', async () => {
    const tree = serverTree();
    tree[`${chassis}/Environment`] = { PowerLimitWatts: { SetPoint: 32_767, AllowableMax: 0 } };
    const { energy } = redfishCapabilities(treeTarget(tree).target);
    expect(await energy.read(['cappingstatus', 'cappingmax', 'cappingvalue'], signal)).toEqual({
      cappingstatus: 'off',
      cappingmax: 'na',
      cappingvalue: 'na',
    });
  });

  it('is set at the control where its excerpt cannot be changed', async () => {
    const { target, tree, patches } = treeTarget(serverTree(), { readOnly: [`${chassis}/Environment`] });
    const { energy } = redfishCapabilities(target);
    expect(await energy.read(['cappingmaxmin', 'cappingvalue'], signal)).toEqual({
      cappingmax: '500 W',
      cappingmin: '100 W',
      cappingvalue: '400 W',
    });
    setTimeout(
      () => (tree[`${chassis}/Environment`] = { PowerLimitWatts: { SetPoint: 250, ControlMode: 'Disabled' } }),
      50,
    );
    await energy.set('cappingvalue', '250', signal);
    expect(patches.at(-1)).toEqual([`${chassis}/Control`, { SetPoint: 250 }]);
    await expect(energy.read(['nosuch'], signal)).rejects.toEqual(
      fault(/unknown energy attributes: nosuch; known are cappingstatus, cappingmaxmin,/),
    );
    await expect(energy.set('cappingmax', '1', signal)).rejects.toEqual(fault(/cappingmax cannot be set/));
  });
});

describe('the BMC', () => {
  const spOf = (tree = serverTree()) => {
    const made = treeTarget(tree);
    return { ...made, sp: redfishServiceProcessor(made.target, openbmcSpReaders, openbmcSpWriters) };
  };

  it.each([
    ['ip', { 'BMC IP': '10.0.0.7' }],
    ['netmask', { 'BMC Netmask': '255.255.255.0' }],
    ['gateway', { 'BMC Gateway': '10.0.0.1' }],
    ['ipsrc', { 'BMC IP Source': 'DHCP' }],
    ['vlan', { 'BMC VLAN ID': '12' }],
    ['hostname', { 'BMC Hostname': 'bmc' }],
    ['ntpservers', { 'BMC NTP Servers': 'a,b' }],
    ['community', { 'SP SNMP Community': 'public' }],
    ['autoreboot', { 'BMC AutoReboot': '1' }],
    ['powerrestorepolicy', { 'BMC PowerRestorePolicy': 'restore' }],
    ['timesyncmethod', { 'BMC TimeSyncMethod': 'ntp' }],
  ])('has %s', async (attribute, value) => expect(await spOf().sp.get(attribute, signal)).toEqual(value));

  it.each([
    [
      { netmask: '255.255.0.0' },
      `${manager}/lan`,
      {
        DHCPv4: { DHCPEnabled: false },
        IPv4Addresses: [
          { Address: '10.0.0.7', SubnetMask: '255.255.0.0', Gateway: '10.0.0.1', AddressOrigin: 'Static' },
        ],
      },
    ],
    [{ ip: 'dhcp' }, `${manager}/lan`, { DHCPv4: { DHCPEnabled: true } }],
    [{ vlan: 'off' }, `${manager}/lan`, { VLAN: { VLANEnable: false } }],
    [{ vlan: '4094' }, `${manager}/lan`, { VLAN: { VLANEnable: true, VLANId: 4094 } }],
    [{ hostname: 'a.b' }, `${manager}/Protocol`, { HostName: 'a.b' }],
    [{ ntp: 'x, fe80::1' }, `${manager}/Protocol`, { NTP: { ProtocolEnabled: true, NTPServers: ['x', 'fe80::1'] } }],
    [
      { community: 'private' },
      `${manager}/Protocol`,
      { SNMP: { CommunityStrings: [{ Name: 'first', CommunityString: 'private' }] } },
    ],
    [{ autoreboot: '0' }, system, { Boot: { AutomaticRetryConfig: 'Disabled' } }],
    [{ powerrestorepolicy: 'always_on' }, system, { PowerRestorePolicy: 'AlwaysOn' }],
    [{ timesyncmethod: 'manual' }, `${manager}/Protocol`, { NTP: { ProtocolEnabled: false } }],
  ])('takes %o', async (settings, path, change) => {
    const { sp, patches } = spOf();
    await sp.set(settings, signal);
    expect(patches).toEqual([[path, change]]);
  });

  it('gets its address by DHCP where the interface has no DHCPv4', async () => {
    const tree = serverTree();
    delete tree[`${manager}/lan`]!['DHCPv4'];
    const { sp, patches } = spOf(tree);
    await sp.set({ ip: 'dhcp' }, signal);
    expect(patches).toEqual([[`${manager}/lan`, { IPv4Addresses: [{ AddressOrigin: 'DHCP' }] }]]);
  });

  it.each([
    [{ vlan: '7' }, {}],
    [{ ip: '10.0.0.9', netmask: '255.255.255.0' }, { 'BMC IP': '10.0.0.7' }],
  ])('takes %o where it keeps settings for its next start, and says so', async (settings, now) => {
    const tree = serverTree();
    const settingsPath = `${manager}/lan/Settings`;
    tree[`${manager}/lan`]!['@Redfish.Settings'] = { SettingsObject: { '@odata.id': settingsPath } };
    tree[settingsPath] = {};
    const { target, patches } = treeTarget(tree, { readOnly: [`${manager}/lan`] });
    expect(await redfishCapabilities(target).serviceProcessor.set(settings, signal)).toEqual({
      ...now,
      Message: [
        expect.stringMatching(/when it restarts: PUT \/nodes\/n1\/power \{"action":"bmcreboot"\} restarts it\./),
      ],
    });
    expect(patches.map(([path]) => path)).toEqual([`${manager}/lan`, settingsPath]);
  });

  it.each([
    [{ ip: '10.0.0.300' }, /"10.0.0.300" is not an IPv4 address/],
    [{ netmask: '255.0.255.0' }, /is not a netmask/],
    [{ gateway: 'x' }, /is not an IPv4 gateway/],
    [{ vlan: '4095' }, /from 1 to 4094/],
    [{ hostname: 'a b' }, /is not a host name/],
    [{ ntp: 'a,,b' }, /is not the name or address of an NTP server/],
    [{ community: 'a\nb' }, /1 to 32 printable/],
    [{ password: 'pw' }, /give userid or username with the password; .* username "admin"/],
    [
      { userid: '9', username: 'x', password: 'y' },
      /no account for userid "9"; its userids are 1 \(admin\), 2 \(oper\)\./,
    ],
    [{ autoreboot: '2' }, /autoreboot is one of 0, 1, not "2"/],
    [{ garp: '1' }, /no attribute garp over Redfish; known are autoreboot,/],
    [{ constructor: '1' }, /no attribute constructor/],
  ])('refuses %o before anything is sent', async (settings, sentence) => {
    const { sp, patches, orders } = spOf();
    await expect(sp.set(settings as unknown as Record<string, string>, signal)).rejects.toEqual(fault(sentence));
    expect([patches, orders]).toEqual([[], []]);
  });

  it.each([
    ['255.255.255.0', true],
    ['128.0.0.0', true],
    ['255.255.255.255', true],
    ['0.0.0.0', false],
    ['0.255.255.255', false],
    ['255.255.255.1', false],
    ['24', false],
  ])('%s as a netmask: %s', (text, is) => expect(isNetmask(text)).toBe(is));
});

describe('a hostile service', () => {
  const uses: readonly ((capabilities: ReturnType<typeof redfishCapabilities>) => Promise<unknown>)[] = [
    ({ power }) => power.state(signal),
    ({ power }) => power.set('softoff', signal),
    ({ power }) => power.set('nmi', signal),
    ({ vitals }) => vitals.read([], signal),
    ({ inventory }) => inventory.read([], signal),
    ({ eventLog }) => eventLog.read(signal),
    ({ nextBoot }) => nextBoot.get(signal),
    ({ beacon }) => beacon.state!(signal),
    ({ beacon }) => beacon.set('on', signal),
    ({ energy }) => energy.read([], signal),
    ({ serviceProcessor }) => serviceProcessor.get('ip', signal),
    ({ serviceProcessor }) => serviceProcessor.get('vlan', signal),
    ({ serviceProcessor }) => serviceProcessor.get('ntp', signal),
    ({ serviceProcessor }) => serviceProcessor.set({ username: 'oper', password: 'x' }, signal),
    ({ serviceProcessor }) => serviceProcessor.get('thermalmode', signal),
    ({ serviceProcessor }) => serviceProcessor.get('bootmode', signal),
    ({ serviceProcessor }) => serviceProcessor.get('powersupplyredundancy', signal),
    ({ serviceProcessor }) => serviceProcessor.set({ thermalmode: 'default' }, signal),
    ({ serviceProcessor }) => serviceProcessor.set({ powersupplyredundancy: 'enabled' }, signal),
    async ({ power }) => power.controller?.state(signal),
    async ({ power }) => power.controller?.restart(signal),
    ({ subnodes }) => subnodes.list(signal),
  ];
  /** Puts another value somewhere in a tree, or takes a member out. */
  const mutation = fc.record({
    where: fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
    value: fc.option(fc.jsonValue(), { nil: undefined }),
  });

  function mutate(tree: unknown, where: readonly number[], value: unknown): void {
    let here = tree as Record<string, unknown>;
    for (const [depth, step] of where.entries()) {
      const names = Object.keys(here);
      const name = names[step % names.length];
      if (name === undefined) return;
      const next = here[name];
      if (depth === where.length - 1 || typeof next !== 'object' || next === null) {
        // A resource that is gone is 404; one that is no object never gets past the parser.
        if (depth > 0) here[name] = value;
        return;
      }
      here = next as Record<string, unknown>;
    }
  }

  it('causes no exception but a Fault, whatever its resources hold', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(mutation, { minLength: 1, maxLength: 12 }),
        fc.constantFrom(...uses),
        fc.constantFrom(redfishCapabilities, openbmcCapabilities),
        async (mutations, use, capabilities) => {
          const tree = serverTree();
          for (const { where, value } of mutations) mutate(tree, where, value);
          const { target } = treeTarget(tree, {
            ordered: () => void Object.assign(tree[system]!, { PowerState: 'Off' }),
          });
          try {
            await use(capabilities({ ...target, powerTimeout: 0 }));
          } catch (error) {
            expect(error).toBeInstanceOf(Fault);
          }
        },
      ),
      { numRuns: 1_500 },
    );
  });
});

it('shows what is consumed where there is no power limit', async () => {
  const { target } = treeTarget({
    ...serverTree(),
    [chassis]: { '@odata.id': chassis, Power: { '@odata.id': `${chassis}/Power` } },
    [`${chassis}/Power`]: { PowerControl: [{ PowerMetrics: { AverageConsumedWatts: 412 } }] },
  });
  const { energy } = redfishCapabilities(target);
  expect(await energy.read([], signal)).toMatchObject({ averageAC: '412 W', cappingstatus: 'na', cappingvalue: 'na' });
  await expect(energy.set('cappingvalue', '300', signal)).rejects.toEqual(fault(/has no power limit/));
});

it('does not take an average over no time for a measurement', async () => {
  const control = { PowerMetrics: { AverageConsumedWatts: 0, IntervalInMin: 0 } };
  const { target, tree } = treeTarget({
    ...serverTree(),
    [chassis]: { '@odata.id': chassis, Power: { '@odata.id': `${chassis}/Power` } },
    [`${chassis}/Power`]: { PowerControl: [{ ...control, PowerLimit: { LimitInWatts: 500 } }] },
  });
  const { energy } = redfishCapabilities(target);
  expect(await energy.read([], signal)).toMatchObject({ averageAC: 'na', cappingvalue: '500 W' });
  tree[`${chassis}/Power`] = { PowerControl: [{ PowerMetrics: { AverageConsumedWatts: 0, IntervalInMin: 5 } }] };
  expect(await energy.read([], signal)).toMatchObject({ averageAC: '0 W' });
});

it('names readings that have no name by what they are, not by their number', async () => {
  const { target } = treeTarget({
    ...serverTree(),
    [chassis]: { '@odata.id': chassis, Power: { '@odata.id': `${chassis}/Power` } },
    [`${chassis}/Power`]: { PowerControl: [{ MemberId: '0', PowerConsumedWatts: 531 }] },
  });
  const read = await redfishCapabilities(target).vitals.read(['wattage'], signal);
  expect(Object.keys(read)).toEqual(['System Power']);
});

it('lists firmware once that its service lists twice', async () => {
  const images = '/redfish/v1/UpdateService/FirmwareInventory';
  const image = { '@odata.id': `${images}/FPGA_0` };
  const tree = serverTree();
  tree['/redfish/v1/']!['UpdateService'] = { '@odata.id': '/redfish/v1/UpdateService' };
  tree['/redfish/v1/UpdateService'] = { FirmwareInventory: { '@odata.id': images } };
  tree[images] = { Members: [image, { '@odata.id': `${images}/CPU_0` }, image] };
  tree[image['@odata.id']] = { ...image, Id: 'FPGA_0', Name: 'Software Inventory', Version: '0.3C' };
  tree[`${images}/CPU_0`] = { Id: 'CPU_0', Name: 'Software Inventory', Version: '02.03' };
  const { target } = treeTarget(tree);
  expect(await redfishCapabilities(target).inventory.read(['firm'], signal)).toMatchObject({
    'FPGA_0 Firmware': '0.3C',
    'CPU_0 Firmware': '02.03',
  });
});

it('shows all vitals but the power state where that is not known', async () => {
  const { target, tree } = treeTarget(serverTree());
  for (const resource of [system, chassis]) delete tree[resource]!['PowerState'];
  const { vitals } = redfishCapabilities(target);
  const all = await vitals.read([], signal);
  expect(Object.keys(all)).not.toContain('Power Status');
  await expect(vitals.read(['power'], signal)).rejects.toEqual(fault(/does not report the power state/));
});
