import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Reply } from '../harness/client.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { connectLibvirts, type LibvirtLab, startLibvirt } from '../lab/libvirt.ts';
import { type GuestOptions, guestXml } from '../lab/libvirt/guest.ts';
import { placeTellingDisk } from '../lab/libvirt/telling.ts';
import { type SshLab, startSsh } from '../lab/ssh.ts';

const run = promisify(execFile);

/** A server with a hypervisor on its own machine, `localhost`, that is also the node `far` behind SSH. */
export interface VmWorld {
  /** Another one after `killServer`. */
  readonly server: TestServer;
  readonly lab: LibvirtLab;
  readonly ssh: SshLab;
  /** A machine that somebody has made by hand. */
  makeByHand(name: string, options?: GuestOptions): Promise<void>;
  /** Puts the first disk of a node's machine in its place, with a guest that tells what it has. */
  placeGuest(node: string, directory?: string): Promise<void>;
  /** What qemu-img says of a file. */
  diskInfo(file: string): Promise<Record<string, unknown>>;
  /** Kills the daemon while a request is at work, as soon as `isReached`; the reply. */
  killDuring(
    isReached: () => boolean | Promise<boolean>,
    request: Promise<Reply>,
    afterwards?: () => Promise<void>,
    which?: LibvirtLab,
  ): Promise<Reply>;
  /** Kills muster and starts it again on the same data. */
  killServer(): Promise<void>;
  /** What the audit log says was removed though muster may not have made it. */
  removedOf(node: string): Promise<readonly string[]>;
  /** What a node's request failed with. */
  complaints(method: string, path: string, body?: object): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function startVmWorld(prefix: string, settings = ''): Promise<VmWorld> {
  const [lab, ssh] = await Promise.all([startLibvirt(), startSsh({ count: 1, prefix })]);
  return worldWith(lab, ssh, settings);
}

/** The same, but `far` is another hypervisor, whose network is connected to that of the first. */
export async function startTwoHypervisors(
  prefix: string,
  settings = '',
): Promise<VmWorld & { readonly far: LibvirtLab }> {
  const [lab, far] = await Promise.all(['10.79.0.1', '10.79.0.2'].map((address) => startLibvirt({ address })));
  await connectLibvirts(lab!, far!);
  const ssh = await startSsh({
    count: 1,
    prefix,
    mounts: { [dirname(dirname(lab!.socket))]: dirname(dirname(far!.socket)) },
  });
  const world = await worldWith(lab!, ssh, settings);
  const stopFirst = () => world.stop();
  // Not a copy: its server may become another one.
  return Object.assign(Object.create(world) as VmWorld, {
    far: far!,
    async stop() {
      await stopFirst();
      await far!.stop();
    },
  });
}

async function worldWith(lab: LibvirtLab, ssh: SshLab, settings: string): Promise<VmWorld> {
  const data = temporaryDirectory();
  const start = (): Promise<TestServer> => startServer({ data, config });
  const config = `[remote]\nport = ${ssh.port}\nconnectSeconds = 5\n[hardware]\nlibvirtSocket = ${JSON.stringify(lab.socket)}\naccelerator = "qemu"\n${settings}\n`;
  let server = await start();
  const [publicKey] = await server.ok('GET', '/services/sshkey');
  ssh.authorize(publicKey);
  await server.ok('PUT', '/nodes', { far: { groups: 'all', ip: ssh.addresses[0]!, mgt: 'kvm' } });
  return {
    get server() {
      return server;
    },
    lab,
    ssh,
    async killServer() {
      server.client.close();
      server.child.kill('SIGKILL');
      await once(server.child, 'exit');
      server = await start();
    },
    async makeByHand(name, options) {
      const file = join(lab.directory, `${name}.xml`);
      writeFileSync(file, guestXml(name, options));
      await lab.virsh('define', file);
    },
    placeGuest: (node, directory) => placeTellingDisk(lab, node, directory),
    async diskInfo(file) {
      const { stdout } = await run('qemu-img', ['info', '-U', '--output=json', join(lab.images, file)]);
      return JSON.parse(stdout);
    },
    async killDuring(isReached, request, afterwards, which = lab) {
      let isOver = false;
      const reply = request.finally(() => (isOver = true));
      while (!isOver && !(await isReached())) await pause(5);
      if (isOver) throw new Error('The request was over before the daemon could be killed.');
      await which.killDaemon();
      await afterwards?.();
      return reply;
    },
    async removedOf(node) {
      const { auditlog } = await server.ok('GET', `/tables/auditlog/rows/noderange=${node}`);
      return auditlog.map(({ args }: { args: string }) => args).filter((args: string) => args.startsWith('removed'));
    },
    async complaints(method, path, body) {
      const reply = await server.call(method, path, body === undefined ? {} : { body });
      if (reply.status < 300) throw new Error(`${method} ${path} did not fail.`);
      return reply.json.error;
    },
    async stop() {
      await server.stop();
      rmSync(data, { recursive: true, force: true });
      await Promise.all([lab.stop(), ssh.stop()]);
    },
  };
}
