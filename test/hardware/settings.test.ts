import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentFor, muster, program } from '../cli/command-line.ts';
import { errorOf } from '../harness/errors.ts';
import { written } from '../harness/output.ts';
import { anonymousEntries, queryOutside } from '../harness/raw-sqlite.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { ipmitool } from '../lab/tools.ts';
import { define, labNode } from './nodes.ts';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;

/** Places of the nodes in their lab. `new` has the newer environment resources, `old` the older ones. */
const places = { ip: 0, old: 0, new: 1, sparse: 2, ob: 3, box: 4, mover: 5, box2: 6, heir: 7 } as const;

beforeAll(async () => {
  const kinds = ['plain', 'plain', 'sparse', 'openbmc', 'enclosure', 'plain', 'enclosure', 'plain'] as const;
  [server, bmcs, services] = await Promise.all([
    startServer(),
    startBmcs({ count: 2, prefix: '127.75' }),
    startRedfish({ count: 8, prefix: '127.76', kinds }),
  ]);
  const redfish = (name: keyof typeof places, mgt = 'redfish') => ({
    [name]: labNode(mgt, services.addresses[places[name]]!),
  });
  await define(server, {
    ip: labNode('ipmi', bmcs.addresses[0]!),
    ip2: labNode('ipmi', bmcs.addresses[1]!),
    ...redfish('old'),
    ...redfish('new'),
    ...redfish('sparse'),
    ...redfish('ob', 'openbmc'),
    ...redfish('box'),
    ...redfish('mover'),
    ...redfish('box2'),
  });
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop()]));

const database = () => join(server.data, 'muster.sqlite');
const get = (node: string, path: string) => server.ok('GET', `/nodes/${node}/${path}`).then((reply) => reply[node]);
const put = (node: string, path: string, body: unknown, root = '/muster') =>
  server.call('PUT', `/nodes/${node}/${path}`, { body, root });
const tool = (...words: string[]) => ipmitool(bmcs.addresses[0]!, words);
const text = (form: RegExp): unknown => expect.stringMatching(form);

/** Succeeds with an empty body. */
async function expectSet(node: string, path: string, body: unknown): Promise<void> {
  const reply = await put(node, path, body);
  expect([reply.status, reply.text]).toEqual([200, '']);
}

/** Fails with one sentence about the node. */
async function expectRefused(reply: Promise<Awaited<ReturnType<typeof put>>>, sentence: RegExp): Promise<void> {
  const { json, ...rest } = await reply;
  expect(errorOf({ json, ...rest })).toEqual([403, 1]);
  expect(json.error).toEqual([text(sentence)]);
}

describe('energy', () => {
  it('of an IPMI node', async () => {
    expect(await get('ip', 'energy')).toMatchObject({
      cappingstatus: 'off',
      cappingvalue: text(/^(\d+ W|N\/A)$/),
      averageAC: text(/^\d+ W$/),
      'Current Power': text(/^\d+ Watts$/),
      'Minimum Power over sampling duration': text(/^\d+ Watts$/),
      'Maximum Power over sampling duration': text(/^\d+ Watts$/),
      'Average Power over sampling duration': text(/^\d+ Watts$/),
      'Time Stamp': text(/^\d\d\/\d\d\/\d{4} - \d\d:\d\d:\d\d$/),
      'Statistics reporting time period': text(/^\d+ milliseconds$/),
      'Power Measurement': 'Active',
    });
    await expectSet('ip', 'energy', { cappingvalue: 275 });
    await expectSet('ip', 'energy', { cappingstatus: 'on' });
    expect(bmcs.state(0).powerLimit).toEqual({ watts: 275, active: true });
    expect(await tool('dcmi', 'power', 'get_limit')).toMatch(/Power Limit: +275 Watts/);
    const both = { cappingstatus: 'on', cappingvalue: '275 W' };
    expect(await get('ip', 'energy/cappingstatus,cappingvalue')).toEqual(both);
    expect(await get('ip', 'energy/cappingstatus;cappingvalue')).toEqual(both);
    await expectSet('ip', 'energy', { cappingstatus: 'off' });
    expect(bmcs.state(0).powerLimit.active).toBe(false);
  });

  it.each(['old', 'new', 'ob'] as const)('of the Redfish node %s', async (node) => {
    // The older resources tell no lower bound.
    const lowest = node === 'old' ? 'na' : '50 W';
    await expectSet(node, 'energy', { cappingvalue: node === 'old' ? 195 : '10%' });
    await expectSet(node, 'energy', { cappingstatus: 'on' });
    expect((await services.state(places[node])).limit).toEqual({ watts: 195, active: true });
    expect(await get(node, 'energy')).toEqual({
      averageAC: text(node === 'old' ? /^\d+ W$/ : /^na$/),
      ...(node === 'old' ? {} : { powerusage: text(/^\d+ W$/) }),
      cappingmax: '1500 W',
      cappingmin: lowest,
      cappingstatus: 'on',
      cappingvalue: '195 W',
    });
    expect(await get(node, 'energy/cappingmaxmin')).toEqual({ cappingmax: '1500 W', cappingmin: lowest });
    await expectSet(node, 'energy', { cappingstatus: 'off' });
  });

  it('is checked before the hardware is asked', async () => {
    const { changes } = await services.state(places.new);
    await expectRefused(
      put('new', 'energy', { cappingvalue: 20 }),
      /^new: cappingvalue 20 is outside the range of 50 to 1500 W/,
    );
    await expectRefused(put('new', 'energy', { cappingvalue: '101%' }), /^new: .*more than 100%/);
    await expectRefused(
      put('new', 'energy', { cappingstatus: 'maybe' }),
      /"maybe" is not a value of cappingstatus; give on or off/,
    );
    await expectRefused(put('new', 'energy', { averageAC: '5' }), /"averageAC" is not a settable energy attribute/);
    expect((await services.state(places.new)).changes).toEqual(changes);
    await expectRefused(put('ip', 'energy', { cappingvalue: 'much' }), /"much" is not a value of cappingvalue/);
    await expectRefused(put('ip', 'energy', { averageAC: '5' }), /"averageAC" is not a settable energy attribute/);
    await expectRefused(server.call('GET', '/nodes/ip/energy/nosuch'), /^ip: .*"nosuch".*known: cappingstatus,/);
    expect(errorOf(await put('ip', 'energy', {}))).toEqual([400, 2]);
  });
});

describe('the BMC', () => {
  it.each([
    ['ip', 'ip', { 'BMC IP': '127.75.0.1' }],
    ['ip', 'netmask', { 'BMC Netmask': '255.0.0.0' }],
    ['ip', 'gateway', { 'BMC Gateway': '0.0.0.0' }],
    ['ip', 'backupgateway', { 'BMC Backup Gateway': '0.0.0.0' }],
    ['ip', 'vlan', { Message: ['BMC VLAN disabled'] }],
    ['ip', 'community', { 'SP SNMP Community': 'public' }],
    ['ip', 'alert', { 'SP Alerting': 'disabled' }],
    ['old', 'ip', { 'BMC IP': '127.76.0.1' }],
    ['old', 'netmask', { 'BMC Netmask': '255.0.0.0' }],
    ['old', 'gateway', { 'BMC Gateway': '127.0.0.1' }],
    ['old', 'vlan', { Message: ['BMC VLAN disabled'] }],
    ['old', 'hostname', { 'BMC Hostname': 'bmc0' }],
    ['old', 'ntp', { 'BMC NTP Servers': 'None' }],
    ['ob', 'ip', { 'BMC IP': '127.76.0.4' }],
    ['ob', 'ntpservers', { 'BMC NTP Servers': 'None' }],
    ['ob', 'timesyncmethod', { 'BMC TimeSyncMethod': 'manual' }],
  ])('of %s tells %s with the label of the reference system', async (node, attribute, labels) => {
    expect(await get(node, `sp/${attribute}`)).toEqual(labels);
  });

  it('of an IPMI node takes both forms of the body', async () => {
    await expectSet('ip', 'sp/netmask', { netmask: '255.255.0.0' });
    await expectSet('ip', 'sp/gateway', { value: '127.75.0.254' });
    await expectSet('ip', 'sp/vlan', { value: 17 });
    await expectSet('ip', 'sp/alert', { alert: 'on' });
    await expectSet('ip', 'sp/community', { value: 'private' });
    await expectSet('ip', 'sp/hostname', { value: 'bmc1' });
    const seen = await tool('lan', 'print', '1');
    expect(seen).toMatch(/Subnet Mask +: 255\.255\.0\.0/);
    expect(seen).toMatch(/Default Gateway IP +: 127\.75\.0\.254/);
    expect(seen).toMatch(/802.1q VLAN ID +: 17/);
    expect(await get('ip', 'sp/vlan')).toEqual({ 'BMC VLAN ID': '17' });
    expect(await get('ip', 'sp/alert')).toEqual({ 'SP Alerting': 'enabled' });
    expect(await get('ip', 'sp/hostname')).toEqual({ 'BMC Hostname': 'bmc1' });
    await expectSet('ip', 'sp/vlan', { vlan: 'off' });
  });

  it('of an IPMI node gets an account, whose password stays here', async () => {
    const password = 'Freds-16-byte-pw';
    await expectSet('ip', 'sp/password', { userid: '5', username: 'fred', password });
    const fred = { username: 'fred', password };
    expect(await ipmitool(bmcs.addresses[0]!, ['power', 'status'], fred)).toContain('Chassis Power is');
    await expectRefused(
      put('ip', 'sp/password', { userid: '5', password: `${password}-over` }),
      /^ip: the password must have 1 to 20/,
    );
    await put('ip', 'sp/passwort', { userid: '5', passwort: password });
    await put('ip', 'sp/password', { value: password });
    await server.call('GET', `/nodes/ip/sp/password=${password}`);
    const notes = await server.ok('GET', '/tables/auditlog/rows');
    expect(notes.auditlog.map(({ args }: { args: string }) => args)).toContain(
      'userid=5 username=fred password=xxxxxxxx',
    );
    expect(JSON.stringify(notes)).not.toContain(password);
    expect(await written(server)).not.toContain(password);
  });

  it.each(['old', 'new', 'ob'] as const)('of the Redfish node %s is set', async (node) => {
    await expectSet(node, 'sp/hostname', { hostname: `sp-${node}` });
    await expectSet(node, 'sp/ntp', { value: '127.0.0.1,127.0.0.2' });
    await expectSet(node, 'sp/vlan', { vlan: 18 });
    expect(await get(node, 'sp/hostname')).toEqual({ 'BMC Hostname': `sp-${node}` });
    expect(await get(node, 'sp/ntp')).toEqual({ 'BMC NTP Servers': '127.0.0.1,127.0.0.2' });
    expect(await get(node, 'sp/vlan')).toEqual({ 'BMC VLAN ID': '18' });
    await expectSet(node, 'sp/username', { username: 'oper', password: 'other-pw' });
    await server.ok('PUT', `/nodes/${node}`, { bmcusername: 'oper', bmcpassword: 'other-pw' });
    expect(await get(node, 'power')).toEqual({ power: 'off' });
    await server.ok('PUT', `/nodes/${node}`, { bmcusername: 'admin', bmcpassword: 'secret' });
  });

  it('that moves is verified at its new address, and the node’s attribute follows', async () => {
    const address = '127.76.0.99';
    const reply = await put('mover', 'sp/ip', { ip: address });
    expect([reply.status, reply.text]).toEqual([200, '']);
    const run = await server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    expect(run.results[0].value).toEqual({
      'BMC IP': address,
      Message: [`Its BMC has moved from 127.76.0.6 to ${address}; its attribute bmc is ${address} now.`],
    });
    expect(await server.ok('GET', '/nodes/mover/attrs/bmc')).toEqual({ mover: { bmc: address } });
    expect((await services.state(places.mover)).address).toBe(address);
    expect(await get('mover', 'power')).toEqual({ power: 'off' });
    expect(await get('mover', 'sp/ip')).toEqual({ 'BMC IP': address });
    const journal = "select user, client, run from muster_journal where command = 'rspconfig'";
    const caller = { user: 'root', client: '127.0.0.1', run: reply.headers['x-muster-run'] };
    // The new address, and the certificate that was seen there.
    expect(queryOutside(database(), journal)).toEqual([caller, caller]);
    expect(anonymousEntries(database())).toEqual([]);
  });

  it('that moves leaves no node unreachable whose group gave the address', async () => {
    const { mgt, bmc, bmcusername, bmcpassword } = labNode('redfish', services.addresses[places.heir]!);
    await server.ok('PUT', '/groups/heirs', {
      mgt: mgt!,
      bmc: bmc!,
      bmcusername: bmcusername!,
      bmcpassword: bmcpassword!,
    });
    await define(server, { heir: { groups: 'heirs' } });
    const address = '127.76.0.98';
    const reply = await server.call('PUT', '/nodes/heir/sp/ip?debug=1', { body: { ip: address } });
    expect(reply.status).toBe(200);
    expect(reply.json.debug).toContain(
      `heir: Its BMC has moved from 127.76.0.8 to ${address}; its attribute bmc is ${address} now as its own value, instead of that of the group heirs.`,
    );
    expect(await get('heir', 'power')).toEqual({ power: 'off' });
    expect(await server.ok('GET', '/groups/heirs/attrs/bmc')).toEqual({ heirs: { bmc } });
  });

  it('that moves and forgets its netmask has an error, and the node’s attribute follows', async () => {
    await services.fault(places.heir, { forgetful: true });
    const address = '127.76.0.97';
    const reply = await put('heir', 'sp/ip', { ip: address, netmask: '255.255.0.0' });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual([
      `heir: its BMC accepted netmask but did not keep it: wanted "255.255.0.0", found "255.0.0.0". Its BMC has moved from 127.76.0.98 to ${address}; its attribute bmc is ${address} now.`,
    ]);
    expect(await get('heir', 'sp/ip')).toEqual({ 'BMC IP': address });
  });

  it.each(['old', 'new', 'ob'] as const)(
    'of the Redfish node %s keeps mask and gateway, or it is said',
    async (node) => {
      await expectSet(node, 'sp/netmask', { netmask: '255.255.0.0' });
      await expectSet(node, 'sp/gateway', { value: '127.76.0.254' });
      expect(await get(node, 'sp/netmask')).toEqual({ 'BMC Netmask': '255.255.0.0' });
      expect(await get(node, 'sp/gateway')).toEqual({ 'BMC Gateway': '127.76.0.254' });
      await services.fault(places[node], { forgetful: true });
      for (const [attribute, value, found] of [
        ['netmask', '255.0.0.0', '255.255.0.0'],
        ['gateway', '127.76.0.253', '127.76.0.254'],
        ['hostname', 'forgotten', '.*'],
        ['ntp', '127.0.0.9', '.*'],
        ['vlan', '99', '.*'],
      ] as const) {
        const sentence = `^${node}: its BMC accepted ${attribute} but did not keep it: wanted "${value}", found "${found}"\\.$`;
        await expectRefused(put(node, `sp/${attribute}`, { value }), new RegExp(sentence));
      }
      await services.fault(places[node], { forgetful: false });
    },
  );

  it('says what is missing where the body has other settings than the path', async () => {
    const reply = await put('old', 'sp/userid', { username: 'fred', password: 'Fr3dsSecret' });
    expect(errorOf(reply)).toEqual([400, 2]);
    expect(reply.json.error).toEqual([
      'The path names userid, but the body has only "username", "password": add userid to the body, or name one of these in the path.',
    ]);
  });

  it('is not moved to where no account may be sent, nor two to one address', async () => {
    for (const node of ['ip', 'old'])
      await expectRefused(
        put(node, 'sp/ip', { ip: '192.0.2.1' }),
        /^\w+: the address 192\.0\.2\.1 is outside the networks/,
      );
    await expectRefused(put('ip,ip2', 'sp/ip', { ip: '127.75.0.9' }), /^127\.75\.0\.9 cannot be the address of 2 BMCs/);
    expect(await get('ip', 'sp/ip')).toEqual({ 'BMC IP': '127.75.0.1' });
    expect((await services.state(places.old)).address).toBe('127.76.0.1');
  });

  it('refuses what it does not know', async () => {
    await expectRefused(server.call('GET', '/nodes/ip/sp/garp'), /^ip: its BMC does not have the setting garp/);
    await expectRefused(server.call('GET', '/nodes/ip/sp/nosuch'), /^ip: "nosuch" cannot be read.*known: ip, netmask/);
    await expectRefused(put('ip', 'sp/nosuch', { value: '1' }), /^ip: "nosuch" cannot be set/);
    for (const value of ['localhost', '10.300.0.1', '::1'])
      await expectRefused(put('ip', 'sp/ip', { value }), /^ip: .*(not an IPv4 address|outside the networks)/);
    await expectRefused(put('old', 'sp/netmask', { value: '255.0.255.0' }), /^old: .*not a netmask/);
    await expectRefused(put('old', 'sp/garp', { value: '1' }), /^old: .*no attribute garp/);
    for (const body of [{}, { netmask: '255.0.0.0' }, { value: '127.0.0.1', netmask: '255.0.0.0' }])
      expect(errorOf(await put('ip', 'sp/gateway', body))).toEqual([400, 2]);
    expect(errorOf(await put('ip', 'sp/gateway', {}, '/xcatws'))).toEqual([403, 2]);
    expect((await put('ip', 'sp/gateway', { netmask: '255.0.0.0' }, '/xcatws')).status).toBe(200);
    expect(await get('ip', 'sp/netmask')).toEqual({ 'BMC Netmask': '255.0.0.0' });
  });
});

describe('what boots next', () => {
  it.each([
    [{ order: 'net' }, 'Network', { persistent: false, efi: false, device: 1 }],
    [{ order: 'hd', persistent: 'yes' }, 'Hard Drive', { persistent: true, efi: false, device: 2 }],
    [{ order: 'cd', mode: 'uefi' }, 'CD/DVD', { persistent: false, efi: true, device: 5 }],
    [{ order: 'floppy', mode: 'legacy' }, 'Floppy', { persistent: false, efi: false, device: 15 }],
    [{ order: 'setup', persistent: 'no' }, 'BIOS Setup', { persistent: false, efi: false, device: 6 }],
    [{ order: 'def' }, 'boot override inactive', undefined],
  ])('of an IPMI node: %o', async (body, shown, flags) => {
    await expectSet('ip', 'nextboot', body);
    expect(await get('ip', 'nextboot')).toEqual({ nextboot: shown });
    expect(bmcs.state(0).bootFlags).toEqual(flags);
    if (body.order === 'net') expect(await tool('chassis', 'bootparam', 'get', '5')).toMatch(/Force PXE/);
  });

  it.each(['old', 'new', 'ob'] as const)('of the Redfish node %s', async (node) => {
    const boot = async () => (await services.state(places[node])).boot;
    await expectSet(node, 'nextboot', { order: 'net' });
    expect(await boot()).toMatchObject({ enabled: 'Once', target: 'Pxe' });
    expect(await get(node, 'nextboot')).toEqual({ nextboot: 'Network' });
    await expectSet(node, 'nextboot', { order: 'hd', persistent: 'yes', mode: 'legacy' });
    expect(await boot()).toEqual({ enabled: 'Continuous', target: 'Hdd', mode: 'Legacy' });
    await expectSet(node, 'nextboot', { order: 'default' });
    expect(await get(node, 'nextboot')).toEqual({ nextboot: node === 'ob' ? 'Default' : 'boot override inactive' });
  });

  it('refuses what it does not know', async () => {
    await expectRefused(
      put('ip', 'nextboot', { order: 'tape' }),
      /^"tape" is not a boot order; known are net, hd, cd,/,
    );
    expect(errorOf(await put('ip', 'nextboot', {}))).toEqual([400, 2]);
    expect(errorOf(await put('ip', 'nextboot', {}, '/xcatws'))).toEqual([404, 2]);
    expect(errorOf(await put('ip', 'nextboot', { order: 'net', persistent: 'perhaps' }))).toEqual([400, 2]);
    expect(errorOf(await put('ip', 'nextboot', { order: 'net', mode: 'bios' }))).toEqual([400, 2]);
  });
});

describe('the boot order', () => {
  it('of a Redfish node is told by names and set by names, references or what they are', async () => {
    const order = async () => (await services.state(places.new)).bootOrder;
    expect(await get('new', 'bootorder')).toEqual({
      bootorder: 'Network Adapter 1,Hard Drive,Network Adapter 2,Optical Drive',
    });
    await expectSet('new', 'bootorder', { order: ['Hard Drive', 'network adapter 2'] });
    expect(await order()).toEqual(['Boot0002', 'Boot0003', 'Boot0001', 'Boot0004']);
    await expectSet('new', 'bootorder', { order: 'Cd, Boot0001' });
    expect(await order()).toEqual(['Boot0004', 'Boot0001', 'Boot0002', 'Boot0003']);
    const { changes } = await services.state(places.new);
    await expectSet('new', 'bootorder', { order: 'Optical Drive' });
    await expectRefused(
      put('new', 'bootorder', { order: 'Pxe' }),
      /^new: "Pxe" means several boot options; .*Hard Drive/,
    );
    await expectRefused(put('new', 'bootorder', { order: ['Tape'] }), /^new: "Tape" is not a boot option/);
    expect((await services.state(places.new)).changes).toEqual(changes);
  });

  it('is an error in words where the hardware has none', async () => {
    await expectRefused(
      server.call('GET', '/nodes/ip/bootorder'),
      /^ip: rbootseq is not possible: mgt "ipmi" has no boot order/,
    );
    await expectRefused(put('ip', 'bootorder', { order: 'net' }), /^ip: rbootseq is not possible/);
    await expectRefused(server.call('GET', '/nodes/sparse/bootorder'), /^sparse: its BMC does not show a boot/);
    for (const body of [{}, { order: [] }, { order: ' , ' }]) {
      expect(errorOf(await put('new', 'bootorder', body))).toEqual([400, 2]);
      expect(errorOf(await put('new', 'bootorder', body, '/xcatws'))).toEqual([403, 2]);
    }
    expect(errorOf(await put('new', 'bootorder', { order: 5 }))).toEqual([400, 2]);
  });
});

describe('vitals', () => {
  const temperature = text(/^\d+ C \(\d+ F\)$/);
  const fan = text(/^\d+ RPM$/);

  it('of an IPMI node have the labels of the reference system', async () => {
    expect(await get('ip', 'vitals')).toMatchObject({
      'Inlet Temp': temperature,
      'CPU1 Temp': temperature,
      Fan1: fan,
      Fan2: fan,
      '12V Rail': text(/^\d+\.\d+ Volts$/),
      'Sys Power': text(/^\d+ Watts \(\d+ BTUs\/hr\)$/),
      'Power Status': 'off',
    });
    await bmcs.set(0, 1, 33);
    expect(await get('ip', 'vitals/temp')).toMatchObject({ 'Inlet Temp': '33 C (91 F)' });
  });

  it('of an IPMI chassis have all twelve labels', async () => {
    expect(Object.keys(await get('ip', 'vitals/chassis'))).toEqual([
      'Power Status',
      'Power Overload',
      'Power Interlock',
      'Power Fault',
      'Power Control Fault',
      'Power Restore Policy',
      'Last Power Event',
      'Chassis intrusion',
      'Front Panel Lockout',
      'Drive Fault',
      'Cooling Fault',
      'Identify Light',
    ]);
  });

  it.each([
    ['ip', 'Fan1'],
    ['old', 'Fan 1'],
    ['new', 'Fan 1'],
    ['ob', 'Fan 1'],
  ])('of %s are selected by comma and semicolon', async (node, fanLabel) => {
    for (const mark of [',', ';']) {
      const some = await get(node, `vitals/temp${mark}fanspeed`);
      expect(some).toMatchObject({ 'Inlet Temp': temperature, 'CPU1 Temp': temperature, [fanLabel]: fan });
      expect(Object.values(some).every((value) => /^\d+ (C|RPM)\b/.test(String(value)))).toBe(true);
    }
    expect(await get(node, 'vitals/power')).toEqual({ 'Power Status': 'off' });
    expect(Object.keys(await get(node, 'vitals/wattage'))).not.toEqual([]);
    expect(await get(node, 'vitals/all')).toMatchObject({ 'Inlet Temp': temperature, [fanLabel]: fan });
  });

  it('have kinds', async () => {
    const unknown = await server.call('GET', '/nodes/ip/vitals/temp,mood');
    expect(unknown.json.error[0]).toMatch(/^"mood" is not a kind of vitals; use all, temp/);
    const without = await server.call('GET', '/nodes/ip/vitals/altitude');
    expect(without.json.error[0]).toMatch(/^ip: IPMI has no vitals of the kind "altitude"/);
  });
});

describe('the inventory', () => {
  it('of an IPMI node has the labels of the reference system', async () => {
    const all = await get('ip', 'inventory');
    expect(all).toMatchObject({
      'System Manufacturer': 'Lab Systems',
      'System Description': 'LabServer 1000',
      'System Model/MTM': '7X00LAB',
      'System Serial Number': 'SN000000',
      'Board manufacturer': 'Lab Systems',
      'Chassis Serial Number': 'CH000000',
      'BMC Firmware': '2.15',
      'UUID/GUID': text(/^[0-9A-F-]{36}$/),
    });
    expect((await tool('mc', 'guid')).toUpperCase()).toContain(all['UUID/GUID']);
  });

  it.each([
    ['ip', { 'System Model/MTM': '7X00LAB', 'System Serial Number': 'SN000000' }],
    ['ip2', { 'System Model/MTM': '7X00LAB', 'System Serial Number': 'SN000001' }],
    ['new', { 'System Model/MTM': 'LabServer 2000', 'System Serial Number': 'SN000001' }],
    ['sparse', { 'System Model/MTM': 'LabServer 2000', 'System Serial Number': 'SN000002' }],
    ['ob', { 'SYSTEM Model': 'LabServer 2000', 'SYSTEM SerialNumber': 'SN000003' }],
  ])('of %s is selected by comma and semicolon', async (node, labels) => {
    for (const mark of [',', ';']) expect(await get(node, `inventory/model${mark}serial`)).toMatchObject(labels);
  });

  it('of Redfish nodes names parts and firmware', async () => {
    expect(await get('ob', 'inventory/firm')).toEqual({
      'HOST Firmware Product': 'LAB-BIOS-1.42 (Active)*',
      'BMC Firmware Product': text(/^2\.15\.\d \(Active\)\*$/),
    });
    expect(Object.keys(await get('ob', 'inventory/cpu'))).toContainEqual(text(/^CPU1 /));
    expect(Object.keys(await get('new', 'inventory/dimm'))).toContainEqual(text(/^DIMM 1 /));
    await expectRefused(server.call('GET', '/nodes/ob/inventory/colour'), /^"colour" is not a kind of inventory/);
  });
});

describe('the event log', () => {
  it('of an IPMI node is read and cleared', async () => {
    expect((await get('ip', 'eventlog')).eventlog).toEqual([
      text(/^BMC Uptime +\d+ s Power Supply, Presence Detected \(PSU1 Status\)$/),
      text(/^BMC Uptime +\d+ s Temperature, Upper Critical - going high \(CPU1 Temp reading 97 C/),
    ]);
    const newest = await server.ok('GET', '/nodes/ip/eventlog?newest=1');
    expect(newest.ip.eventlog).toEqual([expect.stringMatching(/CPU1 Temp/)]);
    const none = await server.call('GET', '/nodes/ip/eventlog?newest=0');
    expect(none.json.error[0]).toMatch(/^newest: give a number from 1 to 999999, not "0"/);
    const reply = await server.call('DELETE', '/nodes/ip/eventlog');
    expect([reply.status, reply.text]).toEqual([200, '']);
    expect(await get('ip', 'eventlog')).toEqual({ eventlog: [] });
    expect(await tool('sel', 'info')).toMatch(/Entries +: 0/);
  });

  it.each(['old', 'new', 'sparse', 'ob', 'box'] as const)(
    'of the Redfish node %s is read and cleared',
    async (node) => {
      await services.log(places[node], 'A fan has stopped.', 'Critical');
      const { eventlog } = await get(node, 'eventlog');
      expect(eventlog.at(-1)).toMatch(/^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d (Critical, )?A fan has stopped\.$/);
      await server.ok('DELETE', `/nodes/${node}/eventlog`);
      expect((await services.state(places[node])).logEntries).toBe(0);
      expect(await get(node, 'eventlog')).toEqual({ eventlog: [] });
    },
  );
});

describe('the beacon', () => {
  it('of an IPMI node', async () => {
    for (const [action, light] of [
      ['on', 'on'],
      ['blink', 'timed'],
      ['off', 'off'],
    ]) {
      await expectSet('ip', 'beacon', { action });
      expect(bmcs.state(0).identify).toBe(light);
      expect(await get('ip', 'beacon')).toEqual({ beacon: action });
    }
  });

  it.each(['old', 'new', 'ob'] as const)('of the Redfish node %s', async (node) => {
    for (const action of ['on', 'off']) {
      await expectSet(node, 'beacon', { action });
      expect((await services.state(places[node])).indicator === 'Off').toBe(action === 'off');
      const shown = action === 'on' ? 'On' : 'Off';
      expect(await get(node, 'beacon')).toEqual({
        beacon: node === 'ob' ? `Front:${shown} Rear:${shown}` : action,
      });
    }
  });

  it('blinks where it can', async () => {
    await expectSet('old', 'beacon', { action: 'blink' });
    expect((await services.state(places.old)).indicator).toBe('Blinking');
    await expectRefused(put('new', 'beacon', { action: 'blink' }), /^new: .*no blinking light; it has on, off/);
    await expectRefused(
      put('ip', 'beacon', { action: 'dance' }),
      /^"dance" is not a beacon action; known are on, off, blink/,
    );
    expect(await get('old', 'beacon')).toEqual({ beacon: 'blink' });
    expect(errorOf(await put('ip', 'beacon', {}))).toEqual([400, 2]);
    expect(errorOf(await put('ip', 'beacon', {}, '/xcatws'))).toEqual([403, 2]);
  });
});

describe('the nodes behind a node', () => {
  it('are those in the slots of an enclosure', async () => {
    const sleds = await server.ok('GET', '/nodes/box/subnodes');
    expect(Object.values(sleds)).toEqual(
      [1, 2, 3].map((slot) => ({
        type: 'chassis',
        manufacturer: 'Lab Systems',
        model: `LabSled ${slot}00`,
        serial: `SL000004${slot}`,
        slot: `${slot}`,
        uuid: text(/^[0-9a-f-]{36}$/),
      })),
    );
    expect(Object.keys(sleds).every((name) => name.startsWith('box-Sled-'))).toBe(true);
    const both = await server.ok('GET', '/nodes/box,box2/subnodes');
    expect(Object.keys(both)).toHaveLength(6);
  });

  it('are an error in words for an IPMI node', async () => {
    const reply = await server.call('GET', '/nodes/ip/subnodes');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual([
      text(/^ip: it is a single server with mgt=ipmi and has no subnodes; .* mgt=redfish\.$/),
    ]);
  });
});

describe('the command line', () => {
  const run = (...argv: string[]) => program(muster, argv, environmentFor(server, server.data));

  it('shows MAC addresses alone, of all kinds of hardware that tell them', async () => {
    for (const node of ['new', 'ob']) {
      const { code, stdout } = await run('rinv', node, 'mac');
      expect([code, stdout]).toEqual([
        0,
        text(new RegExp(`^(${node}: MAC Address \\d+: ([0-9a-f]{2}:){5}[0-9a-f]{2}\n)+$`)),
      ]);
      expect(Object.keys(await get(node, 'inventory/mac')).every((name) => name.startsWith('MAC Address'))).toBe(true);
    }
  });

  it('reads and sets all that it names of BMCs, and refuses other names before anything is done', async () => {
    const read = await run('rspconfig', 'ob', 'ipsrc', 'hostname', 'ntpservers');
    expect([read.code, read.stdout.split('\n').filter((line) => line.startsWith('ob: ')).length]).toEqual([0, 3]);
    expect((await run('rspconfig', 'ob', 'ntpservers=10.0.0.9')).code).toBe(0);
    expect((await run('rspconfig', 'ob', 'ntpservers')).stdout).toContain('10.0.0.9');
    const { changes } = await services.state(places.ob);
    const wrong = await run('rspconfig', 'ob', 'ntpservers=10.0.0.8', 'nosuch=1');
    expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining('Unsupported command: rspconfig nosuch')]);
    expect((await services.state(places.ob)).changes).toEqual(changes);
  });
});
