import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { KeaControl } from '../../../src/protocols/kea/control.ts';
import { makeWire, type Wire } from '../../lab/dhcp.ts';
import { type KeaCommand, type KeaSocket, listenAsKea } from '../../lab/kea-socket.ts';
import { mac, machineWith, node, openSetting, type Rows, type Setting } from './setting.ts';

const network: Rows[number] = ['networks', { netname: 'mgmt', net: '10.77.0.0', mask: '255.255.0.0' }];
const nodes = (count: number): Rows =>
  Array.from({ length: count }, (_, i) => node(`n${i + 1}`, `10.77.1.${i + 1}`, mac(i + 1))).flat();

let wire: Wire | undefined;
let setting: Setting | undefined;
let socket: KeaSocket | undefined;
let foreign: ChildProcess | undefined;
/** A small one of its own, for Kea's files. */
let disk: string | undefined;
afterEach(async () => {
  await setting?.close();
  await socket?.close();
  foreign?.kill('SIGKILL');
  wire?.remove();
  if (disk !== undefined) {
    execFileSync('umount', [disk]);
    rmdirSync(disk);
  }
  wire = setting = socket = foreign = disk = undefined;
});

/** A service on a real wire. */
async function onWire(
  daemon: 'process' | 'none' = 'process',
  directory?: string,
): Promise<{ wire: Wire; setting: Setting }> {
  wire = makeWire(['10.77.0.1/16']);
  setting = await openSetting(machineWith(wire.serverNic, ['10.77.0.1']), {
    prefix: wire.server.command('env'),
    daemon,
    ...(directory !== undefined && { directory }),
  });
  await setting.store.put(network, ...nodes(20));
  return { wire, setting };
}

const place = (name: string): string => join(disk ?? join(setting!.data, 'dhcp'), name);
const control = (): KeaControl => new KeaControl(place('kea4.sock'));
const keaPid = async (): Promise<number> => ((await control().tell('status-get')) as { pid: number }).pid;

/** The MAC addresses that Kea itself says it has reservations for. */
async function served(): Promise<string[]> {
  const text = JSON.stringify(await control().tell('config-get'));
  return [...text.matchAll(/"hw-address":"([^"]+)"/g)].map(([, address]) => address!).sort();
}
const macs = (...indexes: number[]): string[] => indexes.map(mac).sort();

describe('when Kea is away', () => {
  const startForeign = (): void => {
    const [program, ...args] = wire!.server.command('env', 'kea-dhcp4', '-c', place('kea-dhcp4.json'));
    const env = { PATH: `${process.env.PATH}:/usr/sbin`, KEA_PIDFILE_DIR: place('.'), KEA_LOCKFILE_DIR: place('.') };
    foreign = spawn(program, args, { env, stdio: 'ignore' });
  };

  it('that is an error, and what was asked for is done when it is back', async () => {
    const { setting: at } = await onWire('none');
    expect(await at.configure()).toContain(
      `kea-dhcp4 does not run; it serves ${place('kea-dhcp4.json')} when it is started.`,
    );
    await expect(at.reserve('n1', 'n2')).rejects.toThrow(
      /^The DHCP server Kea cannot be used now: nobody answers on its control socket .*\. The request is noted and will be done as soon as the server is back\./,
    );
    startForeign();
    await expect.poll(served).toEqual(macs(1, 2));
    await at.reserve('n3');
    expect(await served()).toEqual(macs(1, 2, 3));
    foreign!.kill('SIGKILL');
    await expect(at.release('n1')).rejects.toThrow('is noted');
    startForeign();
    await expect.poll(served).toEqual(macs(2, 3));
    expect((await wire!.ask(mac(2)))?.['ip']).toBe('10.77.1.2');
  });

  it.each(['the same muster', 'the next muster', 'a new configuration'])(
    'an address that moved to another MAC address meanwhile is free for it: %s',
    async (how) => {
      const { wire: on, setting: at } = await onWire('none');
      await at.configure();
      startForeign();
      await expect.poll(keaPid).toBeGreaterThan(0);
      await at.reserve('n1', 'n2');
      for (const index of [1, 2]) expect((await on.ask(mac(index)))?.['ip']).toBe(`10.77.1.${index}`);
      foreign!.kill('SIGKILL');
      await at.store.put(['mac', { node: 'n1', mac: mac(30) }]);
      await expect(at.reserve('n1')).rejects.toThrow('is noted');
      if (how === 'the next muster') await at.reopen();
      startForeign();
      if (how === 'a new configuration') await expect.poll(() => at.configure()).toBeDefined();
      await expect.poll(() => served().catch(() => [])).toEqual(macs(2, 30));
      const leased = async () => (await at.dhcp.leases()).map(({ address }) => address);
      await expect.poll(leased).toEqual(['10.77.1.2']);
      expect((await on.ask(mac(30)))?.['ip']).toBe('10.77.1.1');
    },
  );

  it('leases are read from its file', async () => {
    const { wire: on, setting: at } = await onWire('none');
    await at.configure();
    startForeign();
    await expect.poll(keaPid).toBeGreaterThan(0);
    await at.reserve('n1');
    expect((await on.ask(mac(1)))?.['ip']).toBe('10.77.1.1');
    foreign!.kill('SIGKILL');
    await expect
      .poll(() => at.dhcp.leases())
      .toEqual([
        { address: '10.77.1.1', mac: mac(1), hostname: 'n1', network: 'mgmt', expires: expect.any(Number) as number },
      ]);
  });
});

describe('killed with SIGKILL', () => {
  it('at random moments, Kea comes back with everything that was acknowledged', async () => {
    const { wire: on, setting: at } = await onWire();
    await at.configure();
    const wanted = new Set<number>();
    for (let round = 1; round <= 6; round++) {
      const [first, second, third] = [round * 3 - 2, round * 3 - 1, round * 3];
      const work = [at.reserve(`n${first}`), at.reserve(`n${second}`), at.reserve(`n${third}`)];
      await pause(Math.random() * 60);
      await keaPid().then(
        (pid) => process.kill(pid, 'SIGKILL'),
        () => undefined,
      );
      const results = await Promise.allSettled(work);
      // What failed is noted: it says so.
      for (const result of results)
        if (result.status === 'rejected') expect(String(result.reason)).toContain('is noted');
      for (const index of [first, second, third]) wanted.add(index);
      if (round % 2 === 0) {
        wanted.delete(first);
        await at.release(`n${first}`).catch((error: unknown) => expect(String(error)).toContain('is noted'));
      }
      await expect.poll(() => served().catch(() => []), { timeout: 60_000 }).toEqual(macs(...wanted));
    }
    expect((await on.ask(mac(3)))?.['ip']).toBe('10.77.1.3');
  });

  it('Kea serves what its file has, even before muster speaks to it', async () => {
    const { setting: at } = await onWire();
    await at.configure();
    await at.reserve('n1', 'n2', 'n3');
    expect(
      [...readFileSync(place('kea-dhcp4.json'), 'utf8').matchAll(/hw-address":"([^"]+)/g)].map(([, each]) => each),
    ).toEqual(macs(1, 2, 3));
  });
});

it('the next muster takes up what the last one has left', async () => {
  const { wire: on, setting: at } = await onWire();
  await at.configure();
  await at.reserve('n1', 'n2');
  await at.reopen();
  await expect.poll(() => served().catch(() => [])).toEqual(macs(1, 2));
  await at.reserve('n4');
  expect(await served()).toEqual(macs(1, 2, 4));
  expect((await on.ask(mac(4)))?.['ip']).toBe('10.77.1.4');
});

it('networks that are reached through relays only, with nowhere to boot from, are served', async () => {
  setting = await openSetting(machineWith('eth0', []));
  const far = { netname: 'far', net: '198.18.0.0', mask: '255.254.0.0' };
  await setting.store.put(['networks', far], ['networks', { netname: 'far6', net: 'fd99::', mask: '/64' }]);
  expect(await setting.configure()).toContain('Network far: no server for boot files is known; set its tftpserver.');
  await setting.store.put(...node('n1', '198.18.0.1', mac(1)));
  await setting.reserve('n1');
  expect(await served()).toEqual(macs(1));
});

it('relays are answered, also where no network is on the wire they speak on', async () => {
  wire = makeWire(['10.77.0.1/16', 'fd77::1/64']);
  const own = machineWith(wire.serverNic, ['10.77.0.1', 'fd77::1']);
  setting = await openSetting(own, { prefix: wire.server.command('env') });
  const far = { netname: 'far', net: '198.18.0.0', mask: '255.254.0.0', dynamicrange: '198.18.9.1-198.18.9.9' };
  const far6 = { netname: 'far6', net: 'fd99::', mask: '/64', dynamicrange: 'fd99::1001-fd99::1001' };
  await setting.store.put(['networks', far], ['networks', far6], ...node('n1', '198.18.0.7', mac(1)));
  await setting.configure();
  await setting.reserve('n1');
  for (const address of ['10.77.0.9/16', '198.18.0.1/15', 'fd77::9/64'])
    wire.client.run('ip', 'address', 'add', address, 'dev', wire.clientNic);
  wire.server.run('ip', 'route', 'add', '198.18.0.0/15', 'via', '10.77.0.9');
  expect(await wire.askAsRelay('198.18.0.1', '10.77.0.1', '198.18.0.1', mac(1))).toBe('198.18.0.7');
  expect(await wire.askAsRelay('198.18.0.1', '10.77.0.1', '198.18.0.1', mac(2))).toMatch(/^198\.18\.9\.\d$/);
  expect(await wire.askAsRelay('fd77::9', 'fd77::1', 'fd99::1', mac(3))).toMatch(/^fd99:.*:1001$/);
});

it('a configuration of somebody else is kept aside', async () => {
  const { setting: at } = await onWire('none');
  mkdirSync(place('.'), { recursive: true });
  writeFileSync(place('kea-dhcp4.json'), '// an example\n{ "Dhcp4": {} }\n');
  await at.reopen();
  await at.configure();
  expect(readFileSync(place('kea-dhcp4.json.before-muster'), 'utf8')).toContain('an example');
});

it('thousands at once are one configuration, and so are many requests of a moment', async () => {
  const { wire: on, setting: at } = await onWire();
  const count = 10_000;
  const name = (i: number): string => `m${i}`;
  const address = (i: number): string => `10.77.${10 + Math.floor(i / 250)}.${(i % 250) + 1}`;
  await at.store.put(...Array.from({ length: count + 21 }, (_, i) => node(name(i), address(i), mac(i + 1_000))).flat());
  await at.configure();
  const configurations = (): number =>
    readFileSync(place('kea-dhcp4.log'), 'utf8').split('DHCP4_CONFIG_COMPLETE').length - 1;
  const before = configurations();
  await at.reserve(...Array.from({ length: count }, (_, i) => name(i)));
  await at.reserve(name(count));
  expect(configurations() - before).toBe(2);
  await Promise.all(Array.from({ length: 20 }, (_, i) => at.reserve(name(count + 1 + i))));
  // The first goes alone if the others come too late for it.
  expect(configurations() - before).toBeLessThanOrEqual(4);
  expect(await served()).toHaveLength(count + 21);
  expect((await on.ask(mac(1_000 + 7_777)))?.['ip']).toBe(address(7_777));
  await at.release(...Array.from({ length: count + 21 }, (_, i) => name(i)));
  expect(await served()).toEqual([]);
});

describe('thousands of leases', () => {
  const count = 5_000;
  const name = (i: number): string => `m${i}`;
  const address = (i: number): string => `10.77.${10 + Math.floor(i / 250)}.${(i % 250) + 1}`;
  const all = Array.from({ length: count }, (_, i) => i);
  const leasedAll = async (holder: (i: number) => string): Promise<void> => {
    for (const i of all)
      await control().tell('lease4-add', {
        'ip-address': address(i),
        'hw-address': holder(i),
        'subnet-id': 0x0a4d0000,
      });
  };
  const leases = async () => (await setting!.dhcp.leases()).length;

  it('end with their reservations, moved or removed at once', async () => {
    const { setting: at } = await onWire();
    await at.configure();
    await at.store.put(...all.flatMap((i) => node(name(i), address(i), mac(i + 1_000))));
    await at.reserve(...all.map(name));
    await leasedAll((i) => mac(i + 1_000));
    expect(await leases()).toBe(count);
    await at.store.put(...all.map((i) => ['mac', { node: name(i), mac: mac(i + 9_000) }] as const));
    await at.reserve(...all.map(name));
    expect(await leases()).toBe(0);
    await leasedAll((i) => mac(i + 9_000));
    await at.release(...all.map(name));
    expect(await leases()).toBe(0);
  });
});

/** A Kea of another version, or with another mind, on the socket. */
async function withKea(answer: (command: KeaCommand) => object | undefined): Promise<Setting> {
  setting = await openSetting(machineWith('eth0', ['10.77.0.1']), { daemon: 'none' });
  await setting.store.put(network, ...nodes(200));
  mkdirSync(place('.'), { recursive: true });
  const usual = (command: KeaCommand): object => {
    if (command.command === 'status-get') return { result: 0, arguments: { pid: 7 } };
    return answer(command) ?? { result: 0, text: 'fine' };
  };
  socket = await listenAsKea(usual, place('kea4.sock'));
  await setting.configure();
  socket.heard.length = 0;
  return setting;
}
const commands = (): string[] =>
  socket!.heard.map(({ command }) => command).filter((command) => command !== 'status-get');

describe('a Kea that takes reservations one by one', () => {
  const able = ({ command }: KeaCommand): object | undefined =>
    command === 'list-commands'
      ? { result: 0, arguments: ['config-set', 'reservation-add', 'reservation-del'] }
      : undefined;

  it('is given a few of them singly', async () => {
    const at = await withKea(able);
    await at.reserve('n1', 'n2');
    await at.release('n1');
    expect(commands()).toEqual(['list-commands', 'reservation-add', 'reservation-add', 'reservation-del']);
    const [, add, , remove] = socket!.heard.filter(({ command }) => command !== 'status-get');
    expect(add!.arguments).toEqual({
      reservation: { 'subnet-id': 0x0a4d0000, 'hw-address': mac(1), 'ip-address': '10.77.1.1', hostname: 'n1' },
      'operation-target': 'memory',
    });
    expect(remove!.arguments).toEqual({
      'subnet-id': 0x0a4d0000,
      'identifier-type': 'hw-address',
      identifier: mac(1),
      'operation-target': 'memory',
    });
    expect(readFileSync(place('kea-dhcp4.json'), 'utf8')).toContain(mac(2));
    expect(readFileSync(place('kea-dhcp4.json'), 'utf8')).not.toContain(mac(1));
  });

  it('is given many of them singly too: it would not hear machines while it reads a configuration', async () => {
    const at = await withKea(able);
    await at.reserve(...Array.from({ length: 150 }, (_, i) => `n${i + 1}`));
    expect(commands()).toEqual(['list-commands', ...Array.from({ length: 150 }, () => 'reservation-add')]);
  });

  it('that refuses one of them gets back what it had', async () => {
    const at = await withKea((command) => {
      const { reservation } = (command.arguments ?? {}) as { reservation?: { hostname: string } };
      return reservation?.hostname === 'n2' ? { result: 1, text: 'conflict' } : able(command);
    });
    await expect(at.reserve('n1', 'n2')).rejects.toThrow(
      'kea-dhcp4 refuses it, and keeps what it has: reservation-add: conflict',
    );
    expect(commands()).toEqual(['list-commands', 'reservation-add', 'reservation-add', 'config-set']);
    expect(JSON.stringify(socket!.heard.at(-1)!.arguments)).not.toContain(mac(1));
    expect(at.store.rows('dhcphost')).toEqual([]);
  });
});

describe('a Kea that refuses', () => {
  it('reservations of one request takes those of the others of the same moment', async () => {
    const at = await withKea(({ command, arguments: given }) =>
      command === 'config-set' && JSON.stringify(given).includes(mac(2)) ? { result: 1, text: 'bad one' } : undefined,
    );
    const results = await Promise.allSettled([at.reserve('n1'), at.reserve('n2'), at.reserve('n3')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(at.store.rows('dhcphost').map((row) => row['node'])).toEqual(['n1', 'n3']);
  });

  it('or answers nonsense is an error that says so', async () => {
    const at = await withKea(({ command, arguments: given }) =>
      command === 'config-set' && JSON.stringify(given).includes(mac(1)) ? { answer: 42 } : undefined,
    );
    await expect(at.reserve('n1')).rejects.toThrow(`Kea's reply to config-set cannot be understood: {"answer":42}`);
    expect(at.store.rows('dhcphost')).toEqual([]);
  });
});

describe('a file that cannot be written', () => {
  // The place of the temporary file is taken, as good as a full disk.
  const block = (): void => mkdirSync(place('kea-dhcp4.json.new'));
  const unblock = (): void => rmdirSync(place('kea-dhcp4.json.new'));
  const written = (): string => readFileSync(place('kea-dhcp4.json'), 'utf8');

  it('keeps no reservation from being served, and is written later', async () => {
    const { setting: at } = await onWire();
    await at.configure();
    block();
    await at.reserve('n1');
    expect(await served()).toEqual(macs(1));
    expect(written()).not.toContain(mac(1));
    unblock();
    await expect.poll(written).toContain(mac(1));
  });

  it('leaves the configuration that was there', async () => {
    const { setting: at } = await onWire();
    await at.configure();
    await at.reserve('n1');
    block();
    await at.store.put(['networks', { netname: 'more', net: '10.99.0.0', mask: '255.255.0.0' }]);
    await expect(at.configure()).rejects.toThrow('EISDIR');
    await expect.poll(async () => JSON.stringify(await control().tell('config-get'))).not.toContain('10.99.0.0');
    expect(await served()).toEqual(macs(1));
    unblock();
    await at.configure();
    expect(written()).toContain('10.99.0.0');
  });
});

it('a full disk changes nothing that is served, and what it has no room for is written later', async () => {
  disk = mkdtempSync(join(tmpdir(), 'muster-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
  const { wire: on, setting: at } = await onWire('process', disk);
  const written = (): string => readFileSync(place('kea-dhcp4.json'), 'utf8');
  await at.configure();
  await at.reserve('n1');
  const before = written();
  expect(() => {
    for (;;) appendFileSync(place('ballast'), Buffer.alloc(4_096));
  }).toThrow('ENOSPC');
  await at.reserve('n2');
  expect(await served()).toEqual(macs(1, 2));
  await at.store.put(['networks', { netname: 'more', net: '10.99.0.0', mask: '255.255.0.0' }]);
  await expect(at.configure()).rejects.toThrow(/kea-dhcp4\.json cannot be written: ENOSPC/);
  await expect.poll(served).toEqual(macs(1, 2));
  expect(JSON.stringify(await control().tell('config-get'))).not.toContain('10.99.0.0');
  expect(written()).toBe(before);
  process.kill(await keaPid(), 'SIGKILL');
  await expect.poll(() => served().catch(() => [])).toEqual(macs(1, 2));
  rmSync(place('ballast'));
  await expect.poll(written).toContain(mac(2));
  expect((await on.ask(mac(2)))?.['ip']).toBe('10.77.1.2');
  await at.configure();
  expect(written()).toContain('10.99.0.0');
});

it('without a configuration there is nothing to reserve in', async () => {
  setting = await openSetting(machineWith('eth0', ['10.77.0.1']), { daemon: 'none' });
  await setting.store.put(...nodes(1));
  await expect(setting.reserve('n1')).rejects.toThrow(
    'DHCP is not configured yet. POST /services/dhcp configures it for all networks.',
  );
  await expect(setting.configure()).rejects.toThrow('No network is defined that DHCP could serve.');
});
