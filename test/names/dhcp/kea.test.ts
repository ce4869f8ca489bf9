import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { KeaControl } from '../../../src/protocols/kea/control.ts';
import { testOrigin } from '../../harness/store.ts';
import { makeWire, type Wire } from '../../lab/dhcp.ts';
import { mac, machineWith, node, openSetting, type Setting } from './setting.ts';

/** Kea from Debian in a namespace of its own, and real clients in another. */
let wire: Wire;
let setting: Setting;
/** Where the machine says its addresses are. */
let nic: string;

const management = {
  netname: 'mgmt',
  net: '10.77.0.0',
  mask: '255.255.0.0',
  gateway: '10.77.0.254',
  dynamicrange: '10.77.200.1-10.77.200.50',
  nameservers: '<xcatmaster>,10.77.0.2',
  ntpservers: '10.77.0.3',
  tftpserver: '<xcatmaster>',
};

beforeAll(async () => {
  wire = makeWire(['10.77.0.1/16', '10.78.0.1/16', 'fd77::1/64']);
  nic = wire.serverNic;
  const addresses = () => machineWith(nic, ['10.77.0.1', '10.78.0.1', 'fd77::1']).addresses();
  setting = await openSetting({ ...machineWith('', []), addresses }, { prefix: wire.server.command('env') });
  const { store } = setting;
  await store.put(
    ['networks', management],
    ['networks', { netname: 'second', net: '10.78.0.0', mask: '255.255.0.0', domain: 'second.test' }],
    ['networks', { netname: 'six', net: 'fd77::', mask: '/64', dynamicrange: 'fd77::1000-fd77::1fff' }],
    ['site', { key: 'domain', value: 'cluster.test' }],
    ['site', { key: 'dhcplease', value: '7200' }],
    ...node('n1', '10.77.1.1', mac(1)),
    ...node('n2', '10.77.1.2', mac(2)),
    ...node('n3', '10.78.1.3', mac(3)),
    ...node('n8', '10.77.1.8', mac(8)),
    ['noderes', { node: 'n8', netboot: 'grub2' }],
    ...node('silent', '10.77.1.9', `${mac(9)}!*NOIP*`),
    ...node('six1', 'fd77::11', mac(11)),
    ...node('twin', '10.77.1.20', mac(1)),
    ...node('same', '10.77.1.1', mac(21)),
  );
  expect(await setting.configure()).toEqual([
    'Network second has no dynamicrange: only nodes with reservations get addresses.',
  ]);
});
afterAll(async () => {
  await setting?.close();
  wire?.remove();
});

const kea = () => new KeaControl(join(setting.data, 'dhcp/kea4.sock'));
const state = () => readFileSync(join(setting.data, 'dhcp/kea-dhcp4.json'), 'utf8');

describe('a node with a reservation', () => {
  beforeAll(() => setting.reserve('n1', 'n2', 'n3', 'n8', 'silent', 'six1'));

  it('gets its address and the options of its network', async () => {
    expect(await wire.ask(mac(1))).toMatchObject({
      ip: '10.77.1.1',
      mask: '16',
      router: '10.77.0.254',
      dns: '10.77.0.1 10.77.0.2',
      domain: 'cluster.test',
      ntpsrv: '10.77.0.3',
      siaddr: '10.77.0.1',
      hostname: 'n1',
      lease: '7200',
    });
  });

  it('gets it on a wire that carries several networks too', async () => {
    expect(await wire.ask(mac(3))).toMatchObject({ ip: '10.78.1.3', domain: 'second.test', siaddr: '10.78.0.1' });
  });

  it.each([
    ['BIOS', { 93: '0000' }, 'undionly.kpxe'],
    ['UEFI x64', { 93: '0007' }, 'ipxe.efi'],
    ['UEFI x64, the other number', { 93: '0009' }, 'ipxe.efi'],
    ['a list of architectures', { 93: '00070009' }, 'ipxe.efi'],
    ['UEFI arm64', { 93: '000b' }, 'ipxe-arm64.efi'],
    ['UEFI of 32 bits', { 93: '0006' }, 'ipxe-ia32.efi'],
    ['UEFI on RISC-V', { 93: '001b' }, 'ipxe-riscv64.efi'],
    ['UEFI on RISC-V of 32 bits', { 93: '0019' }, 'ipxe-riscv32.efi'],
    ['UEFI on RISC-V of 128 bits', { 93: '001d' }, 'ipxe-riscv128.efi'],
    ['UEFI on LoongArch of 32 bits', { 93: '0025' }, 'ipxe-loong32.efi'],
    ['UEFI on LoongArch', { 93: '0027' }, 'ipxe-loong64.efi'],
    ['HTTP boot of 32 bits', { 93: '000f' }, 'http://10.77.0.1/ipxe-ia32.efi'],
    ['HTTP boot on RISC-V', { 93: '001c' }, 'http://10.77.0.1/ipxe-riscv64.efi'],
    ['HTTP boot on RISC-V of 32 bits', { 93: '001a' }, 'http://10.77.0.1/ipxe-riscv32.efi'],
    ['HTTP boot on RISC-V of 128 bits', { 93: '001e' }, 'http://10.77.0.1/ipxe-riscv128.efi'],
    ['HTTP boot on LoongArch of 32 bits', { 93: '0026' }, 'http://10.77.0.1/ipxe-loong32.efi'],
    ['HTTP boot on LoongArch', { 93: '0028' }, 'http://10.77.0.1/ipxe-loong64.efi'],
    ['HTTP boot on x64', { 93: '0010' }, 'http://10.77.0.1/ipxe.efi'],
    ['HTTP boot on arm64', { 93: '0013' }, 'http://10.77.0.1/ipxe-arm64.efi'],
    ['iPXE on BIOS', { 93: '0000', 77: '69505845' }, 'http://${next-server}/boot/${netX/mac:hexhyp}.ipxe'],
    ['iPXE on UEFI', { 93: '0007', 77: '69505845' }, 'http://${next-server}/boot/${netX/mac:hexhyp}.ipxe'],
    ['an installer', {}, undefined],
  ])('is told what to boot: %s', async (_kind, send, expected) => {
    const told = await wire.ask(mac(2), { send });
    expect([told?.['ip'], told?.['boot_file']]).toEqual(['10.77.1.2', expected]);
  });

  it('is named as its own kind in the answer to HTTP boot', async () => {
    expect(await wire.ask(mac(2), { send: { 93: '0010', 60: '48545450436c69656e74' } })).toMatchObject({
      vendor: 'HTTPClient',
    });
  });

  it.each([
    ['BIOS', { 93: '0000' }, 'undionly.kpxe'],
    ['UEFI x64', { 93: '0007' }, 'shimx64.efi'],
    ['UEFI arm64', { 93: '000b' }, 'shimaa64.efi'],
    ['HTTP boot on x64', { 93: '0010' }, 'http://10.77.0.1/shimx64.efi'],
    ['iPXE on UEFI', { 93: '0007', 77: '69505845' }, 'http://${next-server}/boot/${netX/mac:hexhyp}.ipxe'],
  ])('boots by the signed loaders if its netboot is grub2: %s', async (_, send, boot) => {
    expect((await wire.ask(mac(8), { send }))?.['boot_file']).toBe(boot);
  });

  it('gets no answer if its MAC address is marked *NOIP*, while strangers get an address of the range', async () => {
    expect(await wire.ask(mac(9), { tries: 2 })).toBeUndefined();
    expect((await wire.ask(mac(99)))?.['ip']).toMatch(/^10\.77\.200\.\d+$/);
  });

  it('gets its IPv6 address by its MAC address, and strangers one of the range', async () => {
    expect(await wire.ask6(mac(11))).toBe('fd77::11');
    expect(await wire.ask6(mac(98))).toMatch(/^fd77::1[0-9a-f]{3}$/);
  });

  const factory = (index: number): string => `00:1b:21:00:00:${index.toString(16)}`;
  const bare = (address: string): string => address.replaceAll(':', '');
  it.each([
    ['the UUID of the machine', factory(0x61), '0004564d4f6ea405706e38ecda52ad81e97a'],
    ['its MAC address', factory(0x62), `00030001${bare(factory(0x62))}`],
    ['its MAC address and a time', factory(0x63), `000100012a2b2c2d${bare(factory(0x63))}`],
    ['the MAC address of another interface', factory(0x64), `00030001${bare(mac(2))}`],
    ["a number of its maker's", factory(0x65), '00020000ab11fe0123456789abcdef'],
    ['a MAC address that was given to it, and a time', mac(0x66), `000100012a2b2c2d${bare(mac(0x66))}`],
  ])('gets its IPv6 address when it calls itself by %s', async (_name, own, duid) => {
    const address = `fd77::${own.slice(-2)}`;
    await setting.store.put(...node('calls', address, own));
    await setting.reserve('calls');
    expect(await wire.ask6As(own, duid)).toBe(address);
  });

  it('is among the leases', async () => {
    const leases = await setting.dhcp.leases();
    expect(leases).toContainEqual(
      expect.objectContaining({ address: '10.77.1.1', mac: mac(1), hostname: 'n1', network: 'mgmt' }),
    );
    expect(leases).toContainEqual(expect.objectContaining({ address: 'fd77::11', network: 'six' }));
    expect(leases.every(({ expires }) => expires > Date.now() / 1_000)).toBe(true);
  });

  it('has it no more when it is taken back', async () => {
    await setting.release('n2');
    expect((await wire.ask(mac(2)))?.['ip']).toMatch(/^10\.77\.200\.\d+$/);
    await setting.reserve('n2');
    expect((await wire.ask(mac(2)))?.['ip']).toBe('10.77.1.2');
  });

  it('has the new address when it was changed and reserved again', async () => {
    await setting.store.put(['hosts', { node: 'n2', ip: '10.77.1.222' }]);
    expect((await wire.ask(mac(2)))?.['ip']).toBe('10.77.1.2');
    await setting.reserve('n2');
    expect((await wire.ask(mac(2)))?.['ip']).toBe('10.77.1.222');
  });

  it('gets its address with a new board at once, though the old one has a lease of it', async () => {
    await setting.store.put(...node('board', '10.77.1.50', mac(50)), ...node('board6', 'fd77::50', mac(52)));
    await setting.reserve('board', 'board6');
    expect((await wire.ask(mac(50)))?.['ip']).toBe('10.77.1.50');
    expect(await wire.ask6(mac(52))).toBe('fd77::50');
    await setting.store.put(['mac', { node: 'board', mac: mac(51) }], ['mac', { node: 'board6', mac: mac(53) }]);
    await setting.reserve('board', 'board6');
    expect((await wire.ask(mac(51)))?.['ip']).toBe('10.77.1.50');
    expect(await wire.ask6(mac(53))).toBe('fd77::50');
  });

  it('gets its address again when it is reserved again, though it has declined it', async () => {
    await setting.store.put(...node('shy', '10.77.1.70', mac(70)));
    await setting.reserve('shy');
    wire.server.run('ip', 'address', 'add', '10.77.1.70/16', 'dev', wire.serverNic);
    expect((await wire.ask(mac(70), { looks: true }))?.['ip']).toMatch(/^10\.77\.200\.\d+$/);
    wire.server.run('ip', 'address', 'del', '10.77.1.70/16', 'dev', wire.serverNic);
    expect((await wire.ask(mac(70)))?.['ip']).toMatch(/^10\.77\.200\.\d+$/);
    await setting.reserve('shy');
    expect((await wire.ask(mac(70)))?.['ip']).toBe('10.77.1.70');
  });

  it('leaves its address to another when it was taken back, and keeps its lease when it is only reserved again', async () => {
    const leased = async () => (await setting.dhcp.leases()).map(({ address }) => address);
    await setting.store.put(...node('old', '10.77.1.60', mac(60)), ...node('new', '10.77.1.60', mac(61)));
    await setting.reserve('old');
    await wire.ask(mac(60));
    await setting.store.put(['noderes', { node: 'old', tftpserver: '10.77.0.9' }]);
    await setting.reserve('old');
    expect(await leased()).toContain('10.77.1.60');
    await setting.release('old');
    expect(await leased()).not.toContain('10.77.1.60');
    await setting.reserve('new');
    expect((await wire.ask(mac(61)))?.['ip']).toBe('10.77.1.60');
  });

  it('is not served any more when its definition is gone, which nobody has to look for', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    try {
      await setting.reopen();
      await setting.store.put(...node('gone', '10.77.1.77', mac(77)));
      await setting.reserve('gone');
      const rows = setting.store.current.rows('dhcphost').startingWith('gone\0');
      expect(rows).toHaveLength(1);
      await setting.store.store.change(testOrigin, (head) =>
        head
          .rows('dhcphost')
          .startingWith('gone\0')
          .map((row) => ({
            table: 'dhcphost',
            key: `gone\0${row['mac']}\0${row['ip']}`,
            before: row,
            after: undefined,
          })),
      );
      await expect.poll(state).not.toContain(mac(77));
      expect(JSON.stringify(await kea().tell('config-get'))).not.toContain(mac(77));
    } finally {
      vi.useRealTimers();
      await setting.reopen();
    }
  });
});

it('an IPv6 address is preferred as long as it is valid, so that clients take it however short that is', async () => {
  await wire.ask6(mac(11));
  const kea6 = new KeaControl(join(setting.data, 'dhcp/kea6.sock'));
  const lease = await kea6.tell('lease6-get', { 'ip-address': 'fd77::11' });
  expect(lease).toMatchObject({ 'preferred-lft': 7_200, 'valid-lft': 7_200 });
});

it('Kea does not note every question how it is', async () => {
  await kea().tell('status-get');
  expect(readFileSync(join(setting.data, 'dhcp/kea-dhcp4.log'), 'utf8')).not.toContain('status-get');
});

it('a dynamic range that has no address left is noticed once, and no other is', async () => {
  const { store, dhcp } = setting;
  const told: string[] = [];
  dhcp.pools.whenExhausted((sentence) => told.push(sentence));
  const range = (dynamicrange: string) => store.put(['networks', { ...management, dynamicrange }]);
  await range('10.77.200.1-10.77.200.1');
  await setting.configure();
  for (const { address } of await dhcp.leases())
    if (address.startsWith('10.77.200.')) await kea().tell('lease4-del', { 'ip-address': address });
  await dhcp.pools.look();
  expect((await wire.ask(mac(91)))?.['ip']).toBe('10.77.200.1');
  await dhcp.pools.look();
  expect(told).toEqual([]);
  for (const stranger of [92, 93]) {
    expect(await wire.ask(mac(stranger), { tries: 1 })).toBeUndefined();
    await dhcp.pools.look();
  }
  expect(told).toEqual([expect.stringContaining('no address left in the dynamicrange of the network mgmt: a machine')]);
  // What was counted before muster was started is no news, and a range with free addresses is not used up.
  await setting.reopen();
  const again: string[] = [];
  setting.dhcp.pools.whenExhausted((sentence) => again.push(sentence));
  await setting.configure();
  await setting.dhcp.pools.look();
  expect(again).toEqual([]);
  expect(await wire.ask(mac(94), { tries: 1 })).toBeUndefined();
  await range(management.dynamicrange);
  await setting.configure();
  await setting.dhcp.pools.look();
  expect(again).toEqual([]);
});

it('an interface that has come since Kea was started is served', async () => {
  wire.server.run('ip', 'link', 'add', 'late0', 'type', 'veth', 'peer', 'late1');
  wire.server.run('ip', 'link', 'set', 'late0', 'up');
  nic = 'late0';
  await setting.configure();
  expect(JSON.stringify(await kea().tell('config-get'))).toContain('"late0');
  nic = wire.serverNic;
  await setting.configure();
});

it('what is asked for while the networks are configured again is served', async () => {
  await setting.store.put(...node('n7', '10.77.1.7', mac(7)));
  const configured = setting.configure();
  await pause(20);
  await Promise.all([configured, setting.reserve('n7')]);
  expect((await wire.ask(mac(7)))?.['ip']).toBe('10.77.1.7');
});

describe('what is wrong changes nothing', () => {
  it.each([
    ['dhcplease', '0', 'Site attribute dhcplease: "0" is not a number of seconds.'],
    ['httpport', '65536', 'Site attribute httpport: "65536" is not a port.'],
  ])('site attribute %s %s', async (key, value, message) => {
    const before = [state(), setting.store.current.get('site', key)?.['value'] ?? ''] as const;
    await setting.store.put(['site', { key, value }]);
    await expect(setting.configure()).rejects.toThrow(message);
    await setting.store.put(['site', { key, value: before[1] }]);
    expect(state()).toBe(before[0]);
  });

  it.each([
    [['twin'], `Node twin, mac.mac: the MAC address ${mac(1)} is reserved for node n1 already.`],
    [['same'], `Node same, hosts.ip: the address 10.77.1.1 is reserved for ${mac(1)} of node n1 already.`],
  ])('reservations of %j', async (nodes, message) => {
    const before = [state(), setting.store.rows('dhcphost')];
    await expect(setting.reserve(...nodes)).rejects.toThrow(message);
    expect([state(), setting.store.rows('dhcphost')]).toEqual(before);
  });

  it('the others of a request are served', async () => {
    await setting.store.put(...node('n7', '10.77.1.7', mac(7)));
    await expect(setting.reserve('n7', 'twin')).rejects.toThrow(
      `Node twin, mac.mac: the MAC address ${mac(1)} is reserved for node n1 already.`,
    );
    expect(state()).toContain(mac(7));
    await setting.release('n7');
  });

  it('among those asked for at one moment, the others are served', async () => {
    await setting.store.put(...node('n5', '10.77.1.5', mac(5)), ...node('n6', '10.77.1.6', mac(6)));
    const [good, bad, other] = await Promise.allSettled([
      setting.reserve('n5'),
      setting.reserve('twin'),
      setting.reserve('n6'),
    ]);
    expect([good.status, bad.status, other.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(state()).toContain(mac(5));
    expect(state()).toContain(mac(6));
  });

  it('networks whose dynamic range holds a reserved address', async () => {
    const before = state();
    await setting.store.put([
      'networks',
      { net: '10.77.0.0', mask: '255.255.0.0', dynamicrange: '10.77.1.1-10.77.1.9' },
    ]);
    await expect(setting.configure()).rejects.toThrow(
      /^Network mgmt, dynamicrange: it holds the address 10\.77\.1\.\d, which is reserved for node n\d\.$/,
    );
    await setting.store.put([
      'networks',
      { net: '10.77.0.0', mask: '255.255.0.0', dynamicrange: '10.77.200.1-10.77.200.50', gateway: '10.1.1.1' },
    ]);
    await expect(setting.configure()).rejects.toThrow('Network mgmt, gateway: 10.1.1.1 is not inside 10.77.0.0/16;');
    await setting.store.put(['networks', { net: '10.77.0.0', mask: '255.255.0.0', gateway: '10.77.0.254' }]);
    expect(state()).toBe(before);
    expect((await wire.ask(mac(1)))?.['ip']).toBe('10.77.1.1');
  });

  it('a configuration that Kea itself refuses', async () => {
    const before = state();
    nic = 'nowhere0';
    await expect(setting.configure()).rejects.toThrow(/kea-dhcp4 refuses it, and keeps what it has: .*nowhere0/);
    nic = wire.serverNic;
    expect(state()).toBe(before);
    expect((await wire.ask(mac(1)))?.['ip']).toBe('10.77.1.1');
  });
});
