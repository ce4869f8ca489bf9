import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { startLibvirt, type LibvirtLab } from '../test/lab/libvirt.ts';
import { guestXml } from '../test/lab/libvirt/guest.ts';
import type { Connection } from './client.ts';
import { bindTo, clientCore, run } from './process.ts';
import { atMost, type Benchmark, compare, median, type Row } from './report.ts';
import { newDirectory, root, startMuster } from './server.ts';

const defined = 500;
const made = 50;
/** Megabytes of each machine's disk. */
const diskSize = 16;
const rounds = 15;
const warmUp = 3;
const makingRounds = 3;

const needed = new Set(['libvirt-clients', 'libvirt-daemon-system', 'qemu-system-x86', 'qemu-utils']);

const nameOf = (group: string, index: number): string => `${group}${index + 1}`;
const namesOf = (group: string, count: number): string[] => Array.from({ length: count }, (_, i) => nameOf(group, i));

/** Milliseconds that it takes. */
async function time(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const virshOf =
  ({ socket }: LibvirtLab) =>
  (...words: readonly string[]): Promise<string> =>
    run(['virsh', '-q', '-c', `qemu+unix:///system?socket=${socket}`, ...words]);

async function putMachines(client: Connection, group: string, count: number, images: string): Promise<void> {
  const machine = { groups: `all,${group}`, mgt: 'kvm', vmhost: 'localhost', arch: 'x86_64' };
  const disks = { vmstorage: `dir://${images}`, vmstoragemodel: 'virtio', vmmemory: '16', vmbootorder: 'hd' };
  const nodes = namesOf(group, count).map((name) => [name, { ...machine, ...disks }]);
  await client.expect({ method: 'PUT', path: `${root}/nodes`, body: Object.fromEntries(nodes) });
}

async function* statesOf(lab: LibvirtLab, client: Connection): AsyncIterable<Row> {
  const virsh = virshOf(lab);
  const names = namesOf('defined', defined);
  const commands = names.map((name) => {
    const file = join(lab.directory, `${name}.xml`);
    writeFileSync(file, guestXml(name));
    return `define ${file}`;
  });
  await virsh(commands.join('; '));
  await putMachines(client, 'defined', defined, lab.images);
  const taken = { muster: [] as number[], virsh: [] as number[] };
  for (let round = 1; round <= warmUp + rounds; round++) {
    const byHand = await time(() => virsh('domstats', '--state'));
    const { took, body } = await client.expect({ path: `${root}/nodes/defined/power` });
    const told = Object.values(JSON.parse(body!.toString()) as Record<string, { power: string }>);
    if (told.filter(({ power }) => power === 'off').length !== defined) throw new Error('Not all told their state.');
    if (round <= warmUp) continue;
    taken.virsh.push(byHand);
    taken.muster.push(took);
  }
  const what = `Power of ${defined} virtual machines of one hypervisor`;
  yield compare(what, median(taken.muster), median(taken.virsh), 'ms', atMost(0.5), 'virsh domstats');
  await virsh(names.map((name) => `undefine ${name}`).join('; '));
}

async function makeByHand(lab: LibvirtLab): Promise<void> {
  const virsh = virshOf(lab);
  for (const name of namesOf('hand', made)) {
    const [disk, file] = [join(lab.images, `${name}.vda.qcow2`), join(lab.directory, `${name}.xml`)];
    await run(['qemu-img', 'create', '-q', '-f', 'qcow2', disk, `${diskSize}M`]);
    writeFileSync(file, guestXml(name, { disk }));
    await virsh('define', file);
  }
}

async function removeByHand(lab: LibvirtLab): Promise<void> {
  const virsh = virshOf(lab);
  for (const name of namesOf('hand', made)) await virsh('undefine', name, '--remove-all-storage');
}

async function* making(lab: LibvirtLab, client: Connection): AsyncIterable<Row> {
  await virshOf(lab)('pool-create-as', 'images', 'dir', '--target', lab.images);
  await putMachines(client, 'made', made, lab.images);
  const path = `${root}/nodes/made/vm`;
  const ours = { make: [] as number[], remove: [] as number[] };
  const theirs = { make: [] as number[], remove: [] as number[] };
  for (let round = 1; round <= makingRounds; round++) {
    theirs.make.push(await time(() => makeByHand(lab)));
    theirs.remove.push(await time(() => removeByHand(lab)));
    const disksize = `${diskSize}M`;
    ours.make.push(await time(() => client.expect({ method: 'POST', path, body: { disksize } })));
    ours.remove.push(await time(() => client.expect({ method: 'DELETE', path, body: { purge: 'yes' } })));
  }
  const row = (what: string, step: 'make' | 'remove'): Row =>
    compare(what, median(ours[step]), median(theirs[step]), 'ms', atMost(0.5), 'virsh, qemu-img');
  yield row(`${made} virtual machines with a disk each made`, 'make');
  yield row(`${made} virtual machines removed with their disks`, 'remove');
}

/** Virtual machines on a libvirt of this machine, against the commands that an administrator would give. Both use all cores. */
export const vm: Benchmark = {
  name: 'vm',
  async *rows() {
    installMissing(
      testPackages.filter(({ name }) => needed.has(name)),
      'the benchmarks',
    );
    await bindTo(undefined);
    const lab = await startLibvirt();
    const data = newDirectory();
    const muster = await startMuster({
      data,
      allCores: true,
      env: { MUSTER_LIBVIRT_SOCKET: lab.socket, MUSTER_ACCELERATOR: 'qemu' },
    });
    const client = await muster.connect();
    try {
      yield* statesOf(lab, client);
      yield* making(lab, client);
    } finally {
      client.close();
      await muster.stop();
      await lab.stop();
      await bindTo(clientCore);
    }
  },
};
