import { afterAll, beforeAll, expect, it } from 'vitest';
import { ended, muster } from '../harness/muster-command.ts';
import { makeWire, type Wire } from '../lab/dhcp.ts';
import { mac, machineWith, node, openSetting, type Setting } from '../names/dhcp/setting.ts';

/** Kea in a namespace, and this machine in another. */
let wire: Wire;
let setting: Setting;
beforeAll(async () => {
  wire = makeWire(['10.77.0.1/16']);
  setting = await openSetting(machineWith(wire.serverNic, ['10.77.0.1']), { prefix: wire.server.command('env') });
  await setting.store.put(
    ['networks', { netname: 'mgmt', net: '10.77.0.0', mask: '255.255.0.0', tftpserver: '10.77.0.1' }],
    ['site', { key: 'domain', value: 'cluster.test' }],
    ...node('n1', '10.77.1.1', mac(1)),
  );
  await setting.configure();
  await setting.reserve('n1');
});
afterAll(async () => {
  await setting?.close();
  wire?.remove();
});

async function probe(...words: string[]) {
  const [program, ...rest] = wire.client.command(muster, 'xcatprobe', 'detect_dhcpd', ...words);
  return ended(program, rest, {});
}

it('wants an interface with an address', async () => {
  expect(await probe()).toMatchObject({ code: 1, stderr: expect.stringContaining('needs -i INTERFACE') });
  expect(await probe('-i', 'nosuch')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no interface nosuch'),
  });
  wire.client.run('ip', 'link', 'set', wire.clientNic, 'address', mac(5));
  wire.client.run('ip', 'address', 'add', '10.77.0.99/16', 'dev', wire.clientNic);
  expect(await probe('-i', wire.clientNic, '-m', 'zz')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not a MAC address'),
  });
});

it('lists who offers an address to a machine, which Kea keeps for it', async () => {
  const { code, stdout } = await probe('-i', wire.clientNic, '-m', mac(1), '-d', '5');
  expect([code, stdout.split('\n')]).toEqual([
    0,
    [
      '[ OK ] detect_dhcpd: Start to detect DHCP, please wait 5 seconds',
      '[ OK ] detect_dhcpd: There are 1 servers replied to dhcp discover.',
      expect.stringMatching(
        /^\[ OK \] detect_dhcpd: Server:10\.77\.0\.1 assign IP \[10\.77\.1\.1\]\. The next server is/,
      ),
      '',
    ],
  ]);
});

it('says that nobody answers a machine without a reservation', async () => {
  expect(await probe('-i', wire.clientNic, '-d', '1')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('[FAIL] detect_dhcpd: There are 0 servers replied to dhcp discover.'),
  });
});
