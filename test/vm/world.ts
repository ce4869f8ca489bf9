import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, type TestServer } from '../harness/server.ts';
import { type LibvirtLab, startLibvirt } from '../lab/libvirt.ts';
import { type GuestOptions, guestXml } from '../lab/libvirt/guest.ts';
import { type SshLab, startSsh } from '../lab/ssh.ts';

/** A server with a hypervisor on its own machine, `localhost`, that is also the node `far` behind SSH. */
export interface VmWorld {
  readonly server: TestServer;
  readonly lab: LibvirtLab;
  readonly ssh: SshLab;
  /** A machine that somebody has made by hand. */
  makeByHand(name: string, options?: GuestOptions): Promise<void>;
  /** What a node's request failed with. */
  complaints(method: string, path: string, body?: object): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function startVmWorld(prefix: string, settings = ''): Promise<VmWorld> {
  const [lab, ssh] = await Promise.all([startLibvirt(), startSsh({ count: 1, prefix })]);
  const server = await startServer({
    config: `[remote]\nport = ${ssh.port}\nconnectSeconds = 5\n[hardware]\nlibvirtSocket = ${JSON.stringify(lab.socket)}\naccelerator = "qemu"\n${settings}\n`,
  });
  const [publicKey] = await server.ok('GET', '/services/sshkey');
  ssh.authorize(publicKey);
  await server.ok('PUT', '/nodes', { far: { groups: 'all', ip: ssh.addresses[0]!, mgt: 'kvm' } });
  return {
    server,
    lab,
    ssh,
    async makeByHand(name, options) {
      const file = join(lab.directory, `${name}.xml`);
      writeFileSync(file, guestXml(name, options));
      await lab.virsh('define', file);
    },
    async complaints(method, path, body) {
      const reply = await server.call(method, path, body === undefined ? {} : { body });
      if (reply.status < 300) throw new Error(`${method} ${path} did not fail.`);
      return reply.json.error;
    },
    async stop() {
      await server.stop();
      await Promise.all([lab.stop(), ssh.stop()]);
    },
  };
}
