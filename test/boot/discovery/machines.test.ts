import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/core/log.ts';
import { Draft } from '../../../src/database/draft.ts';
import { nodeTables, type Row } from '../../../src/database/tables.ts';
import { MachineDiscovery } from '../../../src/boot/discovery/machines.ts';
import { closeRanges, openRange } from '../../../src/boot/discovery/ranges.ts';
import { AddressGuard } from '../../../src/core/address-guard.ts';
import { NodeIndex } from '../../../src/boot/node-index.ts';
import { Switches } from '../../../src/boot/discovery/switches.ts';
import { Hosts } from '../../../src/names/hosts/hosts.ts';
import { type SnmpLab, startSwitch } from '../../lab/snmp.ts';
import { testOrigin } from '../../harness/store.ts';
import { machineWith, openSetting, type Setting } from '../../names/dhcp/setting.ts';

let setting: Setting;
let machines: MachineDiscovery;
let lab: SnmpLab;
const switchPort = 16_161;

const address = '10.1.200.7';
const image = { imagename: 'ram', provmethod: 'netboot', osvers: 'debian12', osarch: 'x86_64', profile: 'compute' };

beforeAll(async () => {
  [setting, lab] = await Promise.all([
    openSetting(machineWith('eth0', ['10.1.0.250']), { daemon: 'none' }),
    startSwitch({
      address: '127.0.0.61',
      port: switchPort,
      community: 'of-the-switch',
      seen: { [mac(71)]: 'Ethernet7', [mac(72)]: 'Ethernet48' },
    }),
  ]);
});
afterAll(() => Promise.all([setting?.close(), lab?.stop()]));

beforeEach(async () => {
  await setting.store.store.change(testOrigin, (head) => {
    const draft = new Draft(head);
    for (const table of ['discoverydata', 'discoveryrange', ...nodeTables.map(({ name }) => name)])
      for (const key of head.rows(table).keys()) draft.remove(table, key);
    return draft.changes();
  });
  await setting.store.put(
    ['site', { key: 'discovery', value: 'yes' }],
    ['networks', { netname: 'boot', net: '10.1.0.0', mask: '255.255.0.0', gateway: '10.3.255.254' }],
    ['osimage', image],
    ['noderes', { node: 'all', netboot: 'xnba' }],
  );
  machines = discovery(['10.3.0.0/16']);
});

const discovery = (processorNetworks?: readonly string[]) =>
  new MachineDiscovery({
    readiness: async () => new Map(),
    store: setting.store.store,
    dhcp: setting.dhcp,
    log: createLog('silent'),
    index: new NodeIndex(setting.store.store),
    switches: new Switches({
      box: setting.store.box,
      hosts: new Hosts({ hostsFile: '/dev/null', lookup: false }, setting.data),
      guard: new AddressGuard(['127.0.0.0/8']),
      log: createLog('silent'),
      port: switchPort,
    }),
    processorNetworks,
  });

async function define(node: string, ...rows: readonly (readonly [string, Row])[]): Promise<void> {
  await setting.store.put(
    ['nodelist', { node, groups: 'all' }],
    ...rows.map(([table, row]) => [table, { node, ...row }] as const),
  );
}

const mac = (index: number): string => `52:54:00:00:01:${index.toString(16).padStart(2, '0')}`;
const machine = (index: number, more: object = {}) => ({ macs: [{ name: 'eth0', mac: mac(index) }], ...more });
const report = (what: object, from = address) => machines.report(JSON.stringify(what), from);
const row = (table: string, key: string) => setting.store.current.get(table, key);
const reasons = () => machines.unmatched.map(({ reason }) => reason);
const open = (range: string) =>
  setting.store.store.change(testOrigin, (head) => {
    const draft = new Draft(head);
    openRange(draft, range, 'root', new Date());
    return draft.changes();
  });

const uuid = '4c4c4544-0031-3510-8054-b3c04f564433';
/** The same as firmware of another kind writes it. */
const reversed = '44454c4c-3100-1035-8054-b3c04f564433';

describe('a machine becomes the node', () => {
  it.each<[string, [string, Row][], object, Row]>([
    ['with its UUID', [['vpd', { uuid }]], { uuid: uuid.toUpperCase() }, { method: 'uuid' }],
    ['with its UUID in the other order', [['vpd', { uuid: reversed }]], { uuid }, { method: 'uuid' }],
    ['with its serial number', [['vpd', { serial: 'sn-17' }]], { serial: 'SN17', model: 'E1' }, { method: 'serial' }],
    [
      'with its model and serial number',
      [['vpd', { serial: 'SN17', mtm: '8205-E6B' }]],
      { serial: 'SN17', model: '8205E6B' },
      { method: 'serial' },
    ],
    [
      'with its maker, model and serial number',
      [['vpd', { serial: 'SN17', mtm: 'Example E1' }]],
      { serial: 'SN17', manufacturer: 'Example', model: 'E1' },
      { method: 'serial' },
    ],
    ['with its BMC', [['ipmi', { bmc: '10.3.0.1' }]], { bmc: { address: '10.3.0.1' } }, { method: 'bmc' }],
    [
      'with its switch port',
      [['switch', { switch: 'sw1', port: '7' }]],
      { lldp: [{ interface: 'eth0', chassis: 'SW1.example', port: 'Ethernet7' }] },
      { method: 'switch', switchname: 'SW1.example', switchport: 'Ethernet7' },
    ],
    [
      'with all of it',
      [
        ['vpd', { uuid, serial: 'SN17' }],
        ['ipmi', { bmc: '10.3.0.1' }],
      ],
      { uuid, serial: 'SN17', bmc: { address: '10.3.0.1' } },
      { method: 'uuid,serial,bmc' },
    ],
  ])('%s', async (_name, rows, what, kept) => {
    await define('n1', ...rows);
    await define('n2', ['vpd', { serial: 'OTHER', uuid: '11111111-2222-3333-4444-555555555555' }]);
    expect(await report(machine(1, what))).toBe('reboot');
    expect(row('mac', 'n1')).toEqual({ node: 'n1', mac: mac(1) });
    expect(setting.store.rows('discoverydata')).toEqual([expect.objectContaining({ node: 'n1', ...kept })]);
    expect(machines.unmatched).toEqual([]);
    expect(row('mac', 'n2')).toBeUndefined();
  });

  it('whose switch is known by its MAC address', async () => {
    await define('sw1', ['mac', { mac: '52:54:00:aa:aa:aa' }]);
    await define('n1', ['switch', { switch: 'sw1', port: 'Gi1/0/7' }]);
    const lldp = [{ interface: 'eth0', chassis: '52:54:00:aa:aa:aa', port: 'GigabitEthernet1/0/7' }];
    expect(await report(machine(1, { lldp }))).toBe('reboot');
    expect(row('mac', 'n1')).toMatchObject({ mac: mac(1) });
  });

  it('and the node learns what is not defined of it, and nothing else', async () => {
    await define('n1', ['vpd', { serial: 'SN1' }], ['nodehm', { mgt: 'ipmi' }]);
    const what = { serial: 'SN1', model: 'E1', uuid, bmc: { address: '10.3.0.9' }, cpus: 4, memoryMiB: 2048 };
    await report(machine(1, what));
    expect(row('vpd', 'n1')).toEqual({ node: 'n1', serial: 'SN1', mtm: 'E1', uuid });
    expect(row('ipmi', 'n1')).toEqual({ node: 'n1', bmc: '10.3.0.9' });
    expect(row('discoverydata', uuid)).toMatchObject({ cpucount: '4', memory: '2048MB', nichwaddr: mac(1), mtm: 'E1' });
    const revision = setting.store.current.revision;
    expect(await report(machine(1, { ...what, bmc: { address: '10.3.0.10' } }))).toBe('reboot');
    expect(row('ipmi', 'n1')).toEqual({ node: 'n1', bmc: '10.3.0.9' });
    expect(setting.store.current.revision).toBe(revision);
  });

  it.each([
    ['outside hardware.networks', '192.0.2.1', ['10.3.0.0/16']],
    ['where no networks are configured', '10.3.0.9', undefined],
    ['that is a gateway', '10.3.255.254', ['10.3.0.0/16']],
  ])('but accounts are not sent to an address that it names: one %s', async (_name, bmc, networks) => {
    machines = discovery(networks);
    await define('n1', ['vpd', { serial: 'SN1' }], ['nodehm', { mgt: 'ipmi' }]);
    expect(await report(machine(1, { serial: 'SN1', bmc: { address: bmc } }))).toBe('reboot');
    expect(row('ipmi', 'n1')).toBeUndefined();
  });

  it('in one journalled change set that says where it came from', async () => {
    await define('n1', ['vpd', { serial: 'SN1' }], ['nodetype', { provmethod: 'ram' }]);
    const before = setting.store.current.revision;
    await report(machine(1, { serial: 'SN1', uuid }));
    expect(setting.store.current.revision).toBe(before + 1);
    expect(row('chain', 'n1')).toEqual({ node: 'n1', currstate: 'netboot debian12-x86_64-compute' });
  });
});

describe('the node then boots', () => {
  it.each<[string, Row, Row, object | undefined]>([
    [
      'its chain',
      { chain: 'runcmd=bmcsetup,osimage=ram' },
      {},
      { currstate: 'runcmd=bmcsetup', currchain: 'osimage=ram' },
    ],
    ['its chain, whatever it was told before', { chain: 'shell', currstate: 'boot' }, {}, { currstate: 'shell' }],
    ['what is to be done on discovery', { ondiscover: 'runcmd:setup|osimage:ram' }, {}, { currstate: 'runcmd=setup' }],
    ['what it was told before', { currstate: 'shell' }, { provmethod: 'ram' }, { currstate: 'shell' }],
    ['its image', {}, { provmethod: 'ram' }, { currstate: 'netboot debian12-x86_64-compute' }],
    ['nothing in particular', {}, {}, undefined],
  ])('%s', async (_name, chain, nodetype, expected) => {
    await define('n1', ['vpd', { serial: 'SN1' }], ['chain', chain], ['nodetype', nodetype]);
    expect(await report(machine(1, { serial: 'SN1' }))).toBe('reboot');
    if (expected) expect(row('chain', 'n1')).toMatchObject(expected);
    else expect(row('chain', 'n1')?.['currstate']).toBeUndefined();
  });

  it('or is left as it is if that cannot be', async () => {
    await define('n1', ['vpd', { serial: 'SN1' }], ['chain', { chain: 'osimage=nosuch' }]);
    expect(await report(machine(1, { serial: 'SN1' }))).toBe('reboot');
    expect(row('mac', 'n1')).toMatchObject({ mac: mac(1) });
    expect(row('chain', 'n1')).toEqual({ node: 'n1', chain: 'osimage=nosuch' });
  });
});

describe('a machine waits, and it is told why,', () => {
  const cases: [string, [string, [string, Row][]][], object, RegExp][] = [
    ['if no node is like it', [['n1', []]], {}, /No node is defined like it, and no range is open/],
    [
      'if facts of it name two nodes',
      [
        ['n1', [['vpd', { serial: 'SN1' }]]],
        ['n2', [['switch', { switch: 'sw1', port: '7' }]]],
      ],
      { serial: 'SN1', lldp: [{ chassis: 'sw1', port: '7' }] },
      /any of 2 nodes: the serial number SN1 is that of n1; the port 7 of switch sw1 is that of n2/,
    ],
    [
      'if two nodes have the same fact',
      [
        ['n1', [['vpd', { serial: 'SN1' }]]],
        ['n2', [['vpd', { serial: 'SN1' }]]],
      ],
      { serial: 'SN1' },
      /any of 2 nodes: the serial number SN1 is that of n1, n2/,
    ],
    [
      'if the node has another machine',
      [
        [
          'n1',
          [
            ['vpd', { serial: 'SN1' }],
            ['mac', { mac: mac(9) }],
          ],
        ],
      ],
      { serial: 'SN1' },
      /is n1 by the serial number SN1, but n1 is the machine with the MAC 52:54:00:00:01:09 already/,
    ],
    [
      'if it has booted from another interface than the node has',
      [['n1', [['mac', { mac: mac(2) }]]]],
      { macs: [{ mac: mac(1) }, { mac: mac(2) }] },
      /is n1 by the MAC 52:54:00:00:01:02, but has booted from 52:54:00:00:01:01/,
    ],
    [
      'if the node has another serial number',
      [
        [
          'n1',
          [
            ['vpd', { serial: 'SN2' }],
            ['switch', { switch: 'sw1', port: '7' }],
          ],
        ],
      ],
      { serial: 'SN1', lldp: [{ chassis: 'sw1', port: '7' }] },
      /is n1 by the port 7 of switch sw1, but its serial number is SN1 and that of n1 SN2/,
    ],
    [
      'if the node has another UUID',
      [
        [
          'n1',
          [
            ['vpd', { uuid }],
            ['ipmi', { bmc: '10.3.0.1' }],
          ],
        ],
      ],
      { uuid: '99999999-2222-3333-4444-555555555555', bmc: { address: '10.3.0.1' } },
      /but its UUID is 99999999-.* and that of n1 4c4c4544-/,
    ],
    [
      'if the model of the node is another',
      [['n1', [['vpd', { serial: 'SN1', mtm: 'E2' }]]]],
      { serial: 'SN1', model: 'E1' },
      /No node is defined like it/,
    ],
  ];
  it.each(cases)('%s', async (_name, nodes, what, reason) => {
    for (const [node, rows] of nodes) await define(node, ...rows);
    const before = setting.store.current;
    expect(await report(machine(1, what))).toBe('wait 30');
    expect(reasons()).toEqual([expect.stringMatching(reason)]);
    expect(setting.store.current).toBe(before);
  });

  it('if another came first', async () => {
    await define('n1', ['vpd', { serial: 'SN1' }]);
    const answers = await Promise.all([1, 2].map((index) => report(machine(index, { serial: 'SN1' }))));
    expect(answers.sort()).toEqual(['reboot', 'wait 30']);
    expect(reasons()).toEqual([expect.stringMatching(/but n1 is the machine with the MAC/)]);
  });

  it('until something changes', async () => {
    await define('n1');
    await report(machine(1, { serial: 'SN1' }));
    expect(machines.unmatched).toMatchObject([{ times: 1, address, machine: { serial: 'SN1' } }]);
    await report(machine(1, { serial: 'SN1' }));
    expect(machines.unmatched).toMatchObject([{ times: 2 }]);
    await setting.store.put(['vpd', { node: 'n1', serial: 'SN1' }]);
    expect(await report(machine(1, { serial: 'SN1' }))).toBe('reboot');
    expect(machines.unmatched).toEqual([]);
  });
});

describe('a node that has its machine', () => {
  const claim = machine(1, { serial: 'EVIL1', model: 'E1', uuid, bmc: { address: '10.3.0.66' } });
  const rows: [string, Row][] = [
    ['mac', { mac: mac(1) }],
    ['nodehm', { mgt: 'ipmi' }],
    ['hosts', { ip: '10.1.0.1' }],
  ];

  it.each([
    ['an address of nobody', address],
    ['its own address, which its users have too', '10.1.0.1'],
  ])('learns nothing from a report with its MAC address from %s', async (_name, from) => {
    await define('n1', ...rows);
    const before = setting.store.current;
    expect(await report(claim, from)).toBe('reboot');
    expect(setting.store.current).toBe(before);
  });

  it.each(['discover', 'shell'])('is not spoken for from the address of another node: state %s', async (state) => {
    await define('n1', ...rows);
    await define('n2', ['hosts', { ip: '10.1.0.2' }]);
    const before = setting.store.current;
    await expect(report({ ...claim, state }, '10.1.0.2')).rejects.toThrow(/10\.1\.0\.2 belongs to another node/);
    expect(setting.store.current).toBe(before);
    expect(reasons()).toEqual([expect.stringMatching(/^It would be n1, but its address 10\.1\.0\.2 is that of n2/)]);
  });

  it('lets its users become no other node, neither by a serial number nor in an open range', async () => {
    await define('n1', ...rows);
    await define('n2', ['vpd', { serial: 'SN2' }]);
    await define('n3');
    await open('n3');
    const before = setting.store.current;
    await expect(report(machine(2, { serial: 'SN2' }), '10.1.0.1')).rejects.toThrow(/another node/);
    await expect(report(machine(3), '10.1.0.1')).rejects.toThrow(/another node/);
    expect(setting.store.current).toBe(before);
    expect(await report(machine(3))).toBe('reboot');
  });
});

describe('an open range', () => {
  it('gives its nodes away in the order of their numbers, each once, whoever comes at the same time', async () => {
    for (const node of ['n1', 'n2', 'n10', 'n11']) await define(node);
    await setting.store.put(['mac', { node: 'n2', mac: mac(99) }]);
    await open('n[1-2],n[10-11]');
    expect(await report(machine(1))).toBe('reboot');
    const answers = await Promise.all([2, 3, 4, 2, 3].map((index) => report(machine(index))));
    expect(answers.sort()).toEqual(['reboot', 'reboot', 'reboot', 'reboot', 'wait 30']);
    expect(row('mac', 'n1')).toMatchObject({ mac: mac(1) });
    expect(new Set(['n10', 'n11'].map((node) => row('mac', node)?.['mac']))).toHaveLength(2);
    expect(row('mac', 'n2')).toMatchObject({ mac: mac(99) });
    expect(reasons()).toEqual([
      expect.stringMatching(/all nodes of the open range n\[1-2\],n\[10-11\] have their machines/),
    ]);
    expect(setting.store.rows('discoverydata').map(({ method }) => method)).toEqual(['order', 'order', 'order']);
  });

  it('gives away no node that waits for a machine in particular', async () => {
    await define('n1', ['vpd', { serial: 'SN1' }]);
    await define('n2', ['switch', { switch: 'sw1', port: '2' }]);
    await define('n3', ['ipmi', { bmc: '10.3.0.3' }]);
    await open('n1-n3');
    expect(await report(machine(1))).toBe('reboot');
    expect(row('mac', 'n3')).toMatchObject({ mac: mac(1) });
    expect(await report(machine(2))).toBe('wait 30');
    expect(await report(machine(3, { serial: 'SN1' }))).toBe('reboot');
    expect(row('mac', 'n1')).toMatchObject({ mac: mac(3) });
  });

  it('gives away nothing when it is closed', async () => {
    await define('n1');
    await open('n1');
    await setting.store.store.change(testOrigin, (head) => {
      const draft = new Draft(head);
      closeRanges(draft, undefined);
      return draft.changes();
    });
    expect(await report(machine(1))).toBe('wait 30');
    expect(() => closeRanges(new Draft(setting.store.current), undefined)).toThrow(/No range is open/);
  });
});

describe('a switch that is asked by SNMP', () => {
  it.each<[string, Row, boolean]>([
    ['tells behind which port a machine is that does not know it itself', { password: 'of-the-switch' }, true],
    ['tells nothing to who does not know its community', { password: 'wrong' }, false],
    ['is not asked by a version that it is not defined with', { password: 'of-the-switch', snmpversion: '3' }, false],
  ])('%s', async (_name, row71, finds) => {
    await define('sw1', ['hosts', { ip: '127.0.0.61' }]);
    await setting.store.put(['switches', { switch: 'sw1', ...row71 }]);
    await define('n1', ['switch', { switch: 'sw1', port: '7' }]);
    await define('n2', ['switch', { switch: 'sw1', port: '8' }]);
    expect(await report(machine(71))).toBe(finds ? 'reboot' : 'wait 30');
    expect(row('mac', 'n1')?.['mac']).toBe(finds ? mac(71) : undefined);
    expect(await report(machine(72))).toBe('wait 30');
    expect(await report(machine(73))).toBe('wait 30');
    expect(row('mac', 'n2')).toBeUndefined();
  });

  it('gets no community outside the networks that the configuration allows', async () => {
    await define('sw1', ['hosts', { ip: '10.9.9.9' }]);
    await setting.store.put(['switches', { switch: 'sw1', password: 'of-the-switch' }]);
    await define('n1', ['switch', { switch: 'sw1', port: '7' }]);
    expect(await report(machine(71))).toBe('wait 30');
  });
});

describe('strangers', () => {
  it('are heard only while discovery is on, and on networks of the cluster', async () => {
    await expect(report(machine(1), '192.0.2.7')).rejects.toThrow(/192\.0\.2\.7 is in none of the defined networks/);
    await setting.store.put(['site', { key: 'discovery', value: 'no' }]);
    await expect(report(machine(1))).rejects.toThrow(/Discovery is off/);
    expect(machines.unmatched).toEqual([]);
    await define('n1');
    await open('n1');
    expect(await report(machine(1))).toBe('reboot');
  });

  it('fill no more than their part of the memory', async () => {
    await report(machine(1, { serial: 'REAL' }), '10.1.200.1');
    for (let index = 0; index < 100; index++)
      await report(machine(2, { uuid: `4c4c4544-0000-0000-0000-${String(index).padStart(12, '0')}` }), '10.1.200.2');
    expect(machines.unmatched).toHaveLength(17);
    for (let index = 0; index < 2_100; index++)
      await report(
        machine(3, { uuid: `4c4c4544-0000-0000-0001-${String(index).padStart(12, '0')}` }),
        `10.1.${index >> 8}.${index & 255}`,
      );
    expect(machines.unmatched).toHaveLength(2_000);
  });
});
