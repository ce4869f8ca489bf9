import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labNode } from '../hardware/nodes.ts';
import { exitOf, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { makeWire, type Wire } from '../lab/dhcp.ts';
import { type BootLab, bootLabOn, startBootLab } from './boot-client.ts';
import { definePacked } from './packed-image.ts';

const parts = { root: Buffer.from('r'), kernel: Buffer.from('k'), initrd: Buffer.from('i') };
const reportIn = (script: string): string | undefined =>
  /muster\.report=http:\/\/[^/]+(\/boot\/report\/\S+)/.exec(script)?.[1];

describe('a node whose system runs gets no token', () => {
  const [address, mac] = ['127.0.0.61', '52:54:00:00:00:61'];
  let lab: BootLab;
  let bmcs: BmcLab;
  beforeAll(async () => {
    [lab, bmcs] = await Promise.all([startBootLab(), startBmcs({ count: 1, prefix: '127.79' })]);
    const more = { netboot: 'xnba', arch: 'x86_64', ip: address, mac };
    await lab.server.ok('PUT', '/nodes', { n1: labNode('ipmi', bmcs.addresses[0]!, more) });
    await definePacked(lab, 'deb', parts);
  });
  afterAll(() => Promise.all([lab?.stop(), bmcs?.stop()]));

  const setState = (state: object) => lab.server.ok('PUT', '/nodes/n1/bootstate', state);
  const script = async (): Promise<string> => (await lab.from(address, `/boot/${mac.replaceAll(':', '-')}.ipxe`)).text;
  const send = async (path: string | undefined, body: string): Promise<number> =>
    (await lab.from(address, path ?? '/none', { method: 'POST', body })).status;
  const restart = async (): Promise<void> => {
    const { data, child } = lab.server;
    child.kill('SIGTERM');
    await exitOf(child);
    lab = await bootLabOn(await startServer({ data, environment: { MUSTER_BOOT_LISTEN: '127.0.0.1:0' } }), lab.install);
  };
  const why = async (): Promise<string> => (await lab.server.ok('GET', '/nodes/n1/boot')).n1.why;
  const stateNow = async (): Promise<string> => (await lab.server.ok('GET', '/nodes/n1/bootstate')).n1.bootstat;

  it('from the moment that it starts until nodeset says what it is to boot, also by a muster that was restarted', async () => {
    await setState({ osimage: 'deb' });
    const path = reportIn(await script());
    expect(await send(path, 'booting')).toBe(204);
    expect(await script()).toContain('imgurl=');
    expect(reportIn(await script())).toBeUndefined();
    // The token that it has is good until it has booted.
    expect(await send(path, 'booted')).toBe(204);
    expect(await why()).not.toContain('token');
    expect(reportIn(await script())).toBeUndefined();
    await expect
      .poll(() => lab.server.output())
      .toMatch(/script of n1 was fetched .* nothing shows a new boot, so it got no token/);
    expect(await why()).toMatch(/got no token .* nodeset or rpower lets it get one/);
    await restart();
    expect(reportIn(await script())).toBeUndefined();
    await setState({ osimage: 'deb' });
    expect(reportIn(await script())).toBeDefined();
    expect(await why()).not.toContain('token');
  });

  it('but one that boots keeps its own while nobody uses a newer one, which a forged request can ask for', async () => {
    await setState({ osimage: 'deb' });
    const first = reportIn(await script());
    // A muster that was restarted makes another at once.
    await restart();
    const second = reportIn(await script());
    expect(second).not.toBe(first);
    expect(await send(first, 'initramfs')).toBe(204);
    expect(await send(second, 'initramfs')).toBe(204);
    expect(await send(first, 'initramfs')).toBe(403);
  });

  it('until it is powered by muster', async () => {
    expect(await send(reportIn(await script()), 'booted')).toBe(204);
    await lab.server.ok('GET', '/nodes/n1/power');
    expect(reportIn(await script())).toBeUndefined();
    await lab.server.ok('PUT', '/nodes/n1/power', { action: 'boot' });
    expect(reportIn(await script())).toBeDefined();
  });

  it('that is known to somebody from before it restarted', async () => {
    await setState({ osimage: 'deb' });
    const early = reportIn(await script());
    expect(reportIn(await script())).toBe(early);
    await setState({ osimage: 'deb' });
    expect(await send(reportIn(await script()), 'initramfs')).toBe(204);
    expect(await send(early, 'initramfs')).toBe(403);
  });

  it('and what is done in a boot is done once', async () => {
    await setState({ state: 'osimage=deb,osimage=deb,boot' });
    const path = reportIn(await script());
    for (let i = 0; i < 3; i++) expect(await send(path, 'installed')).toBe(204);
    expect(await stateNow()).toMatch(/^netboot /);
    const next = reportIn(await script());
    expect(next).not.toBe(path);
    expect(await send(next, 'installed')).toBe(204);
    expect(await stateNow()).toBe('boot');
  });
});

interface Written {
  readonly Dhcp4: Readonly<Record<'client-classes', readonly object[]>>;
}

describe('a node that restarts by itself', () => {
  const [server, address, mac] = ['10.77.0.1', '10.77.1.9', '52:54:00:02:00:09'];
  /** Of a node in another network, which only a relay reaches. */
  const [farAddress, farMac, relay] = ['10.88.17.9', '52:54:00:02:00:08', '10.88.31.254'];
  const [server6, address6, mac6] = ['fd00:77::1', 'fd00:77::9', '52:54:00:02:00:06'];
  const install = temporaryDirectory();
  let wire: Wire;
  let muster: TestServer;
  const start = (data?: string): Promise<TestServer> =>
    startServer({
      ...(data !== undefined && { data }),
      namespace: wire.server,
      config: `[boot]\nlisten = ["${server}:80", "[${server6}]:80"]\n`,
      environment: { MUSTER_DHCP_DAEMON: 'process' },
    });
  beforeAll(async () => {
    wire = makeWire([`${server}/16`, `${server6}/64`]);
    wire.client.run('ip', 'address', 'add', `${address}/16`, 'dev', wire.clientNic);
    muster = await start();
    const site = { installdir: install, master: server, dhcpinterfaces: wire.serverNic };
    for (const [key, value] of Object.entries(site))
      await muster.ok('PUT', `/globalconf/attrs/${key}`, { [key]: value });
    await muster.ok('POST', '/networks/boot', { net: '10.77.0.0', mask: '255.255.0.0', tftpserver: server });
    await muster.ok('POST', '/networks/far', { net: '10.88.16.0', mask: '255.255.240.0', tftpserver: server });
    wire.client.run('ip', 'address', 'add', `${farAddress}/20`, 'dev', wire.clientNic);
    wire.server.run('ip', 'route', 'add', '10.88.16.0/20', 'dev', wire.serverNic);
    const common = { groups: 'all', netboot: 'xnba', arch: 'x86_64' };
    await muster.ok('PUT', '/nodes/n1', { ...common, ip: address, mac });
    await muster.ok('PUT', '/nodes/far1', { ...common, ip: farAddress, mac: farMac });
    await muster.ok('PUT', '/nodes/six1', { ...common, ip: address6, mac: mac6 });
    await definePacked({ server: muster, install }, 'deb', parts);
    await muster.ok('POST', '/services/dhcp');
    await muster.ok('PUT', '/nodes/n1,far1,six1/bootstate', { osimage: 'deb' });
  });
  afterAll(async () => {
    await muster?.stop();
    wire?.remove();
    rmSync(install, { recursive: true, force: true });
  });

  const curl = (path: string, ...words: string[]): string =>
    wire.client.run(
      'curl',
      '-s',
      '--retry',
      '5',
      '--retry-connrefused',
      '-w',
      '%{http_code}',
      ...words,
      `http://${server}${path}`,
    );
  const tokenOf = (from: string, own: string): string | undefined =>
    reportIn(curl(`/boot/${own.replaceAll(':', '-')}.ipxe`, '--interface', from));
  const token = (): string | undefined => tokenOf(address, mac);
  const why = async (): Promise<string> => (await muster.ok('GET', '/nodes/n1/boot')).n1.why;
  const forge = (from: string, own: string, ...relays: string[]): string => {
    const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups'];
    const forger = join(import.meta.dirname, '../lab/dhcp-forger.ts');
    return wire.client.run('setpriv', ...nobody, process.execPath, forger, from, server, own, ...relays);
  };
  const firmware = { send: { 93: '0000', 60: Buffer.from('PXEClient').toString('hex') } };

  it('gets a token when DHCP has given its firmware an address, not when its system or a user of it asks', async () => {
    expect(curl(token()!, '--data-binary', 'booted')).toBe('204');
    expect(token()).toBeUndefined();
    // A user of the node needs no rights to send a packet like that of firmware from its address.
    const asked = async (): Promise<string> => {
      forge(address, mac, address, relay);
      return why();
    };
    // Nor is it a boot when its system asks.
    expect((await wire.ask(mac))?.['ip']).toBe(address);
    expect(token()).toBeUndefined();
    await expect.poll(asked, { timeout: 30_000, interval: 500 }).toMatch(/has asked DHCP/);
    // Kea answers one packet after another, and a script is made again when something has changed.
    expect((await wire.ask(mac))?.['ip']).toBe(address);
    await muster.ok('PUT', '/nodes/n1', { usercomment: 'changed' });
    expect(token()).toBeUndefined();
    expect((await wire.ask(mac, firmware))?.['ip']).toBe(address);
    // The same script is kept for a second.
    await expect.poll(token, { timeout: 30_000 }).toBeDefined();
    expect(curl(token()!, '--data-binary', 'booted')).toBe('204');
    expect(token()).toBeUndefined();
  });

  it('gets a token when a relay in its own network passes on what firmware asks', async () => {
    const farToken = (): string | undefined => tokenOf(farAddress, farMac);
    expect(curl(farToken()!, '--data-binary', 'booted', '--interface', farAddress)).toBe('204');
    expect(farToken()).toBeUndefined();
    const relayed = (): string | undefined => {
      forge(farAddress, farMac, relay);
      return farToken();
    };
    await expect.poll(relayed, { timeout: 30_000, interval: 500 }).toBeDefined();
  });

  it('gets a token whenever it asks from an IPv6 address, where nothing could show its boot', () => {
    wire.client.run('ip', 'address', 'replace', `${address6}/64`, 'dev', wire.clientNic, 'nodad');
    const ask = (path: string, ...words: string[]): string =>
      wire.client.run('curl', '-s', '-g', '-w', '%{http_code}', ...words, `http://[${server6}]${path}`);
    const token6 = (): string | undefined => reportIn(ask(`/boot/${mac6.replaceAll(':', '-')}.ipxe`));
    expect(ask(token6()!, '--data-binary', 'booted')).toBe('204');
    expect(token6()).toBeDefined();
  });

  it.each([
    ['knows no firmware', undefined],
    ['believes every relay', 'option[93].exists and (pkt.src == 0.0.0.0 or not (pkt4.giaddr == 0.0.0.0))'],
  ])('gets a token also where the configuration of Kea is of an older muster and %s', async (_, older) => {
    await muster.ok('PUT', '/nodes/n1/bootstate', { osimage: 'deb' });
    expect(curl(token()!, '--data-binary', 'booted')).toBe('204');
    expect(token()).toBeUndefined();
    const file = join(muster.data, 'dhcp/kea-dhcp4.json');
    const written = (): Written => JSON.parse(readFileSync(file, 'utf8')) as Written;
    const { data, child } = muster;
    child.kill('SIGTERM');
    await exitOf(child);
    const today = written();
    const [ofFirmware, ...others] = today.Dhcp4['client-classes'];
    expect(ofFirmware).toMatchObject({ name: 'firmware' });
    const classes = older === undefined ? others : [{ ...ofFirmware, test: older }, ...others];
    writeFileSync(file, JSON.stringify({ Dhcp4: { ...today.Dhcp4, 'client-classes': classes } }));
    muster = await start(data);
    await expect.poll(written, { timeout: 30_000 }).toEqual(today);
    await expect.poll(() => muster.output()).toContain('kea-dhcp4 was configured by an older muster');
    // Kea's times are whole seconds.
    const asked = async (): Promise<string | undefined> => {
      await wire.ask(mac, firmware);
      return token();
    };
    await expect.poll(asked, { timeout: 30_000, interval: 500 }).toBeDefined();
  });
});
