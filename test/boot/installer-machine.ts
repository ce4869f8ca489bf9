import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { shippedImageFiles } from '../../src/core/home.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { hasEnded, type LabChild, startChild } from '../lab/child.ts';

export interface InstallationWanted {
  /** Of the loopback interface of the network namespace that this runs in. */
  readonly address: string;
  /** `debian13` */
  readonly os: string;
  /** Fills the tree that the node is installed from; its installer lies in `netboot`. */
  fill(tree: string, netboot: string): void;
  /** Words of QEMU for the disk; without them the machine has none. */
  readonly disk?: string;
  readonly memory?: number;
}

/**
 * A muster, and a machine that boots the installer of Debian with what muster tells it, in the network that QEMU itself makes, by which
 * it is seen to come from the address.
 */
export class Installation {
  readonly #directory = mkdtempSync(join(tmpdir(), 'muster-installer-'));
  readonly #wanted: InstallationWanted;
  #machine: LabChild | undefined;
  readonly server: TestServer;

  private constructor(server: TestServer, wanted: InstallationWanted) {
    this.server = server;
    this.#wanted = wanted;
  }

  static async start(wanted: InstallationWanted): Promise<Installation> {
    const server = await startServer({ environment: { MUSTER_BOOT_LISTEN: `${wanted.address}:80` } });
    const installation = new Installation(server, wanted);
    try {
      await installation.#define();
    } catch (error) {
      await installation.stop();
      throw error;
    }
    return installation;
  }

  async #define(): Promise<void> {
    const { server } = this;
    const { address, os, fill } = this.#wanted;
    const tree = join(this.#directory, os, 'x86_64');
    const netboot = join(tree, 'install/netboot/debian-installer/amd64');
    mkdirSync(netboot, { recursive: true });
    fill(tree, netboot);
    await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: this.#directory });
    await server.ok('PUT', '/nodes/n1', {
      groups: 'all',
      arch: 'x86_64',
      netboot: 'xnba',
      mac: '52:54:00:00:00:01',
      ip: address,
      // Waiting for routers of IPv6 takes the installer longer than all else.
      addkcmdline: 'ipv6.disable=1 console=ttyS0 quiet DEBIAN_FRONTEND=text',
    });
    await server.ok('POST', '/osimages/debian', {
      imagetype: 'linux',
      osname: 'Linux',
      osvers: os,
      osarch: 'x86_64',
      profile: 'compute',
      provmethod: 'install',
      pkgdir: tree,
      pkglist: join(shippedImageFiles, 'debian/install/compute.debian.pkglist'),
    });
    await server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'debian' });
  }

  /** What iPXE would do: it is known from other tests, so these do without it. */
  bootInstaller(): void {
    const script = this.#fetched('boot/52-54-00-00-00-01.ipxe').toString();
    const [, kernel = '', args = ''] = /^kernel .*?http:\/\/[^/]+\/(\S+) (.*)$/m.exec(script) ?? [];
    const [, initrd = ''] = /^initrd .*?http:\/\/[^/]+\/(\S+)/m.exec(script) ?? [];
    const [kernelFile, initrdFile] = [join(this.#directory, 'kernel'), join(this.#directory, 'initrd')];
    writeFileSync(kernelFile, this.#fetched(kernel));
    writeFileSync(initrdFile, this.#fetched(initrd));
    this.#boot(['-no-reboot', '-kernel', kernelFile, '-initrd', initrdFile, '-append', args]);
  }

  bootDisk(): void {
    this.#boot([]);
  }

  #boot(more: readonly string[]): void {
    const { disk, memory = 1280 } = this.#wanted;
    const words = [
      `-machine pc,graphics=off -accel tcg,thread=multi -cpu max -m ${memory} -display none -nodefaults -no-user-config`,
      '-netdev user,id=net,ipv6=off -device virtio-net-pci,netdev=net,mac=52:54:00:00:00:01,romfile= -device virtio-rng-pci',
      `-serial file:${this.#screen}`,
      ...(disk === undefined ? [] : [disk]),
    ];
    writeFileSync(this.#screen, '');
    this.#machine = startChild('qemu-system-x86_64', [...words.join(' ').split(' '), ...more], {
      directory: this.#directory,
      logFile: join(this.#directory, 'qemu.log'),
    });
  }

  get #screen(): string {
    return join(this.#directory, 'screen');
  }

  #fetched(path: string): Buffer {
    const { address } = this.#wanted;
    return execFileSync('curl', ['-sf', '--interface', address, `http://${address}/${path}`], { maxBuffer: 2 ** 28 });
  }

  /** What the node did, without times and sizes. */
  async steps(): Promise<string[]> {
    const { n1 } = await this.server.ok('GET', '/nodes/n1/boot');
    const lines = (n1.steps ?? []) as string[];
    return lines.map((line) => line.replace(/^\S+ /, '').replace(/ \(.*/, ''));
  }

  async attribute(name: string): Promise<string> {
    return (await this.server.ok('GET', `/nodes/n1/attrs/${name}`)).n1[name] as string;
  }

  /** Waits for a step, or until the machine has ended or the time is over. */
  async until(isDone: (steps: readonly string[]) => boolean, deadline: number): Promise<boolean> {
    while (!isDone(await this.steps())) {
      if (Date.now() > deadline || !this.#machine || hasEnded(this.#machine)) return isDone(await this.steps());
      await pause(500);
    }
    return true;
  }

  async untilOff(deadline: number): Promise<void> {
    while (this.#machine && !hasEnded(this.#machine) && Date.now() < deadline) await pause(500);
    await this.#machine?.stop();
  }

  /** The end of what it shows, and what QEMU says. */
  shown(): { screen: string; log: string } {
    return { screen: readFileSync(this.#screen, 'latin1').slice(-4_000), log: this.#machine?.log() ?? '' };
  }

  async stop(): Promise<void> {
    await this.#machine?.stop();
    await this.server.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
