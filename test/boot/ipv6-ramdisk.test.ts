import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { ramdiskTools } from '../../src/images/build/ramdisk-tools.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { startChild } from '../lab/child.ts';
import { machineArch } from '../lab/netboot/machine.ts';
import { canMakeNamespaces, connectNamespaces, makeNamespace, type Namespace } from '../lab/netns.ts';
import { openRamdisk } from './ramdisk/in-ramdisk.ts';

const mac = '52:54:00:00:06:01';
const made = 'fd00:6::5054:ff:fe00:601';
const root = Buffer.alloc(300_000, 'root ');
const canRun = canMakeNamespaces() && ['radvd', 'kea-dhcp6'].every(isInstalled);

describe.skipIf(!canRun)('an initial RAM disk whose muster has an IPv6 address', () => {
  let [server, machine] = [] as Namespace[];
  let directory: string;
  beforeEach(() => {
    directory = temporaryDirectory();
    const [left, right] = ([server, machine] = [makeNamespace(), makeNamespace()]);
    connectNamespaces(
      { namespace: left, interface: 'lan', addresses: ['fd00:6::1/64'] },
      { namespace: right, interface: 'eth0', mac },
    );
    mkdirSync(join(directory, 'files'));
    writeFileSync(join(directory, 'files/root'), root);
    run('busybox', 'httpd', '-f', '-p', '[fd00:6::1]:80', '-h', join(directory, 'files'));
    return async () => {
      left.remove();
      right.remove();
      rmSync(directory, { recursive: true, force: true });
    };
  });

  /** A program on the server, until the test is over. */
  const run = (...words: [string, ...string[]]): void => {
    const [program, ...args] = server!.command(...words);
    const child = startChild(program, args, { directory, logFile: join(directory, `${words.at(-1)!.length}.log`) });
    onTestFinished(() => child.stop());
  };

  /** Gives addresses out; those that say who they are by this MAC address have one of their own. */
  const serveDhcp = (): void => {
    const subnet = {
      id: 1,
      subnet: 'fd00:6::/64',
      interface: 'lan',
      pools: [{ pool: 'fd00:6::1000-fd00:6::1fff' }],
      reservations: [{ 'hw-address': mac, 'ip-addresses': ['fd00:6::77'] }],
      'option-data': [{ name: 'dns-servers', data: 'fd00:6::53' }],
    };
    const file = join(directory, 'kea.json');
    const leases = { type: 'memfile', persist: false };
    // It keeps nothing that another one on this machine has.
    const identity = { 'server-id': { type: 'EN', 'enterprise-id': 1, identifier: '01', persist: false } };
    const interfaces = { 'interfaces-config': { interfaces: ['lan'] } };
    const document = { Dhcp6: { ...identity, ...interfaces, 'lease-database': leases, subnet6: [subnet] } };
    writeFileSync(file, JSON.stringify(document));
    run('env', `KEA_PIDFILE_DIR=${directory}`, 'KEA_LOCKFILE_DIR=none', 'kea-dhcp6', '-c', file);
  };

  const announce = (): void => {
    const file = join(directory, 'radvd.conf');
    writeFileSync(
      file,
      'interface lan { AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4; prefix fd00:6::/64 {}; };\n',
    );
    server!.run('sysctl', '-qw', 'net.ipv6.conf.all.forwarding=1');
    run('radvd', '-n', '-m', 'stderr', '-p', join(directory, 'radvd.pid'), '-C', file);
  };

  /** What shell lines print after the machine is connected and has fetched its root. */
  async function boot(lines: string): Promise<string> {
    const { top, put } = openRamdisk();
    put(Object.fromEntries(ramdiskTools(join(top, 'newroot'), machineArch)));
    put({ 'sys/.keep': '', 'dev/null': '' });
    const sum = createHash('sha256').update(root).digest('hex');
    // Cards of the lab are no devices.
    const script = `for part in /lib/muster/*; do . "$part"; done
      all_cards() { echo eth0; }
      say() { echo "$*"; }
      stop() { echo "stopped: $*"; exit 1; }
      netdev= bootif= ip= report= discovery= url='http://[fd00:6::1]/root' sum=${sum}
      connect && fetch_root && ${lines}`;
    const inside = 'mount --bind /proc "$1/proc" && mount --bind /sys "$1/sys" && exec chroot "$1" /bin/sh -c "$2"';
    const [program, ...args] = machine!.command('unshare', '-m', 'sh', '-c', inside, 'sh', top, script);
    const env = { PATH: '/bin:/usr/sbin:/sbin:/usr/bin' };
    const { stdout } = await promisify(execFile)(program, args, { env }).catch((error: { stdout: string }) => error);
    return stdout;
  }

  const look = 'ip -6 addr show dev eth0 scope global; cat /etc/resolv.conf; ls /run/image';

  it('has the address that is reserved for it, where no router is', async () => {
    serveDhcp();
    const shown = await boot(look);
    expect(shown).toContain('fetched\n');
    expect(shown).toContain('inet6 fd00:6::77/128');
    expect(shown).toContain('nameserver fd00:6:0:0:0:0:0:53\n');
  });

  it('has no other address besides it, where a router tells of the network', async () => {
    announce();
    serveDhcp();
    const shown = await boot(look);
    expect(shown).toContain('fetched\n');
    expect(shown).toContain('inet6 fd00:6::77/128');
    expect(shown).not.toContain(made);
  });

  it('makes an address where there is nobody to give it one', async () => {
    announce();
    const shown = await boot(look);
    expect(shown).toContain('fetched\n');
    expect(shown).toContain(`inet6 ${made}/64`);
  });

  it('hands its way of asking on to the root', async () => {
    serveDhcp();
    const shown = await boot(
      `mkdir -p /root/lib/systemd/systemd-networkd /place && tree=/root place=/place && settle_network && cat /place/systemd/network/50-muster.network`,
    );
    expect(shown).toMatch(/\[Network\]\nDHCP=ipv6\n[^]*DUIDType=link-layer\n/);
  });
});
