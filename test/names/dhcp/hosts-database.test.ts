import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../../scripts/packages.ts';
import { KeaControl } from '../../../src/protocols/kea/control.ts';
import { makeWire, type Wire } from '../../lab/dhcp.ts';
import { makePostgres, type Postgres } from '../../lab/postgres.ts';
import { mac, machineWith, node, openSetting, type Setting } from './setting.ts';

/** Kea with its reservations in PostgreSQL. */
describe.skipIf(!isInstalled('/usr/lib/postgresql'))("Kea's host table", () => {
  let wire: Wire;
  let postgres: Postgres;
  let setting: Setting;

  beforeAll(async () => {
    wire = makeWire(['10.77.0.1/16', 'fd77::1/64']);
    postgres = await makePostgres('kea');
    const account = ['-u', 'kea', '-p', 'secret', '-n', 'kea', '-h', postgres.directory, '-P', String(postgres.port)];
    execFileSync('kea-admin', ['db-init', 'pgsql', ...account], {
      stdio: 'pipe',
      env: { PATH: `${process.env.PATH}:/usr/sbin` },
    });
    setting = await openSetting(machineWith(wire.serverNic, ['10.77.0.1', 'fd77::1']), {
      prefix: wire.server.command('env'),
      hostsDatabase: postgres.url,
    });
    await setting.store.put(
      [
        'networks',
        { netname: 'mgmt', net: '10.77.0.0', mask: '255.255.0.0', dynamicrange: '10.77.200.1-10.77.200.50' },
      ],
      ['networks', { netname: 'six', net: 'fd77::', mask: '/64' }],
      ...node('n1', '10.77.1.1', mac(1)),
      ...node('n2', '10.77.1.2', mac(2)),
      ...node('n3', '10.77.1.3', mac(3)),
      ...node('silent', '10.77.1.9', `${mac(9)}!*NOIP*`),
      ...node('six1', 'fd77::11', mac(11)),
      ['noderes', { node: 'n2', tftpserver: '10.77.0.250' }],
    );
    await setting.configure();
    // Somebody else's.
    postgres.query(
      "INSERT INTO hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id, ipv4_address) VALUES ('\\x0a', 0, 5, 7)",
    );
  });
  afterAll(async () => {
    await setting?.close();
    await postgres?.remove();
    wire?.remove();
  });

  const names = (): string[] =>
    postgres.query("SELECT coalesce(hostname, '-') FROM hosts ORDER BY 1").split('\n').sort();

  it('is given reservations, which are served at once without a new configuration', async () => {
    const before = readFileSync(join(setting.data, 'dhcp/kea-dhcp4.json'), 'utf8');
    await setting.reserve('n1', 'n2', 'silent', 'six1');
    expect(readFileSync(join(setting.data, 'dhcp/kea-dhcp4.json'), 'utf8')).toBe(before);
    expect(names()).toEqual(['-', '-', 'n1', 'n2', 'six1']);
    expect(await wire.ask(mac(1))).toMatchObject({ ip: '10.77.1.1', hostname: 'n1', siaddr: '10.77.0.1' });
    expect(await wire.ask(mac(2), { send: { 93: '0000' } })).toMatchObject({
      ip: '10.77.1.2',
      siaddr: '10.77.0.250',
      boot_file: 'undionly.kpxe',
    });
    expect(await wire.ask(mac(9), { tries: 2 })).toBeUndefined();
    expect(await wire.ask6(mac(11))).toBe('fd77::11');
  });

  it('loses those that are taken back, and keeps what is not ours', async () => {
    await setting.release('n2');
    expect(names()).toEqual(['-', '-', 'n1', 'six1']);
    expect((await wire.ask(mac(2)))?.['ip']).toMatch(/^10\.77\.200\./);
  });

  it('is put right when it has lost or gained rows while muster was away', async () => {
    postgres.query(
      "DELETE FROM hosts WHERE hostname = 'n1'; UPDATE hosts SET hostname = 'other' WHERE hostname = 'six1'",
    );
    await setting.reopen();
    await expect.poll(names).toEqual(['-', '-', 'n1', 'six1']);
    expect(postgres.query('SELECT count(*) FROM ipv6_reservations')).toBe('1');
  });

  it('stays, and Kea gets the class of firmware, where an older muster has written its configuration', async () => {
    const file = join(setting.data, 'dhcp/kea-dhcp4.json');
    const written = (): object => JSON.parse(readFileSync(file, 'utf8')) as object;
    const before = written() as { readonly Dhcp4: { readonly 'client-classes': readonly { name: string }[] } };
    const others = before.Dhcp4['client-classes'].filter(({ name }) => name !== 'firmware');
    writeFileSync(file, JSON.stringify({ Dhcp4: { ...before.Dhcp4, 'client-classes': others } }));
    await setting.reopen();
    await expect.poll(written, { timeout: 30_000 }).toEqual(before);
    expect((await wire.ask(mac(1), { send: { 93: '0000' } }))?.['lease']).toBe('3600');
    expect(names()).toEqual(['-', '-', 'n1', 'six1']);
  });

  it('is put right when it has come back without rows it was given', async () => {
    // Both servers have been told everything before it is done.
    await setting.reserve('n1');
    postgres.query("DELETE FROM hosts WHERE hostname = 'n1'");
    postgres.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'kea'");
    await expect.poll(names).toEqual(['-', '-', 'n1', 'six1']);
  });

  it('gives an address to another MAC address at once, though the old one has a lease of it', async () => {
    await setting.store.put(...node('board', '10.77.1.50', mac(50)));
    await setting.reserve('board');
    expect((await wire.ask(mac(50)))?.['ip']).toBe('10.77.1.50');
    await setting.store.put(['mac', { node: 'board', mac: mac(51) }]);
    await setting.reserve('board');
    expect((await wire.ask(mac(51)))?.['ip']).toBe('10.77.1.50');
    await setting.release('board');
  });

  it('refuses what somebody else has there, names it, and keeps what it has', async () => {
    const taken = postgres.query("SELECT dhcp4_subnet_id FROM hosts WHERE hostname = 'n1'");
    const bytes = `'\\x${mac(60).replaceAll(':', '')}'`;
    postgres.query(
      `INSERT INTO hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id) VALUES (${bytes}, 0, ${taken})`,
    );
    await setting.store.put(...node('n60', '10.77.1.60', mac(60)), ...node('n61', '10.77.1.61', mac(61)));
    const [bad, good] = await Promise.allSettled([setting.reserve('n60'), setting.reserve('n61')]);
    expect([bad.status, good.status]).toEqual(['rejected', 'fulfilled']);
    expect(String((bad as PromiseRejectedResult).reason)).toContain(mac(60).replaceAll(':', ''));
    expect(names()).toContain('n61');
    expect(setting.store.rows('dhcphost').filter(({ node: whose }) => whose === 'n60')).toEqual([]);
    await setting.release('n61');
    postgres.query(`DELETE FROM hosts WHERE dhcp_identifier = ${bytes}`);
  });

  it('that is away is an error, and what was asked for is done when it is back', async () => {
    const control = new KeaControl(join(setting.data, 'dhcp/kea4.sock'));
    const before = await control.tell('status-get');
    await postgres.kill();
    await expect(setting.reserve('n3')).rejects.toThrow(/^Kea's host table cannot be reached: .* The request is noted/);
    await postgres.start();
    await expect.poll(names).toEqual(['-', '-', 'n1', 'n3', 'six1']);
    // The same process of Kea finds it again.
    await expect.poll(async () => (await wire.ask(mac(3)))?.['ip']).toBe('10.77.1.3');
    expect(await control.tell('status-get')).toMatchObject({ pid: (before as { pid: number }).pid });
  });

  it('that is away is stood in for by a copy, in which renewals and new reservations are answered', async () => {
    await setting.store.put(...node('late', '10.77.1.70', mac(70)));
    expect((await wire.ask(mac(1)))?.['ip']).toBe('10.77.1.1');
    await postgres.kill();
    // While Kea waits it answers nobody; it never gives a reserved machine another address.
    const answered = async (index: number): Promise<string> =>
      (await wire.ask(mac(index)))?.['ip'] ?? (await answered(index));
    expect(await answered(1)).toBe('10.77.1.1');
    expect(await wire.renew(mac(1), '10.77.1.1')).toBe('10.77.1.1');
    expect(await answered(3)).toBe('10.77.1.3');
    expect(await wire.ask6(mac(11))).toBe('fd77::11');
    await expect(setting.reserve('late')).rejects.toThrow('The request is noted');
    await expect.poll(async () => (await wire.ask(mac(70)))?.['ip']).toBe('10.77.1.70');
    // Neither muster nor Kea forgets it in a restart.
    await setting.reopen();
    await expect.poll(async () => (await wire.ask(mac(70)))?.['ip']).toBe('10.77.1.70');
    await postgres.start();
    await expect.poll(() => names().includes('late')).toBe(true);
    await setting.release('late');
    expect((await wire.ask(mac(70)))?.['ip']).toMatch(/^10\.77\.200\./);
    expect(readFileSync(join(setting.data, 'dhcp/kea-dhcp4.json'), 'utf8')).not.toContain('10.77.1.1');
  });

  it('that was not made yet is an error that says how, and what was asked for is done afterwards', async () => {
    postgres.query('ALTER TABLE hosts RENAME TO elsewhere');
    await expect(setting.reserve('n2')).rejects.toThrow(/"kea-admin db-init pgsql" makes Kea's tables/);
    postgres.query('ALTER TABLE elsewhere RENAME TO hosts');
    await expect.poll(names).toEqual(['-', '-', 'n1', 'n2', 'n3', 'six1']);
    await setting.release('n2');
  });

  it('is used, or no more, from the next configuration on; until then nothing is put where Kea does not look', async () => {
    const changed = 'The setting dhcp.hostsDatabase has changed since DHCP was configured.';
    await setting.reopen({ hostsDatabase: undefined });
    await expect(setting.reserve('n2')).rejects.toThrow(changed);
    await expect(setting.release('n1')).rejects.toThrow(changed);
    await setting.configure();
    await setting.reserve('n2');
    expect((await wire.ask(mac(2)))?.['ip']).toBe('10.77.1.2');
    await setting.reopen();
    await expect(setting.reserve('n2')).rejects.toThrow(changed);
    await setting.configure();
    await setting.release('n2');
    expect(names()).toEqual(['-', '-', 'n1', 'n3', 'six1']);
    expect((await wire.ask(mac(2)))?.['ip']).toMatch(/^10\.77\.200\.\d+$/);
  });

  it('takes thousands at once', async () => {
    const count = 10_000;
    await setting.store.put(
      ...Array.from({ length: count + 1 }, (_, i) =>
        node(`m${i}`, `10.77.${10 + Math.floor(i / 250)}.${(i % 250) + 1}`, mac(i + 1_000)),
      ).flat(),
    );
    await setting.reserve(...Array.from({ length: count }, (_, i) => `m${i}`));
    await setting.reserve(`m${count}`);
    expect(postgres.query('SELECT count(*) FROM hosts')).toBe(String(count + 1 + 5));
  });
});
