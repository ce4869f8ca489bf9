// What the page of virtual machines and the questions about snapshots say.
import { common } from './common.ts';

export const texts = {
  title: 'Virtual machines',
  about: 'by hypervisor, as their nodes are defined and as the hypervisors have them',
  none: 'There are no virtual machines yet.',
  howTo:
    'A virtual machine is a node with mgt=kvm; the attribute vmhost names its hypervisor. Define some and make them:',
  example:
    'muster mkdef -t node v1-v4 groups=vms arch=x86_64 mgt=kvm vmhost=hv1 vmcpus=2 vmmemory=2G\nmuster mkvm v1-v4 --size 20',
  noHost: 'no hypervisor',
  noMachine: 'No machine.',
  machinesOf: (host: string) => `Machines of ${host}`,
  columns: ['Machine', common.power, 'CPUs', 'Memory'],
  consoleOf: (name: string) => `Console of ${name}`,
  snapshots: 'Snapshots',
  snapshotsOf: (name: string) => `Snapshots of ${name}`,
  takeOne: 'Take a snapshot',
  verbs: { revert: 'Revert to it', delete: 'Delete it' },
  titles: { revert: (name: string) => `Revert to ${name}`, delete: (name: string) => `Delete ${name}` },
  titleOf: (title: string) => `${title}: ${common.machines(1)}`,
  revertIt: 'Revert',
  revertNamed: (name: string, machine: string) => `Revert ${machine} to ${name}`,
  deleteIt: 'Delete',
  deleteNamed: (name: string, machine: string) => `Delete ${name} of ${machine}`,
  name: 'Name',
  description: 'What it is for',
  noSnapshots: 'There is no snapshot.',
  nameHelp: 'Letters, digits, and . _ - after the first',
  take: 'A machine that runs pauses while its memory is written. Its disks have to be qcow2.',
  revert: 'What has changed since on the disks of this machine is lost. It runs afterwards if it ran then.',
  remove: 'The machine stays as it is; the snapshot is gone.',
} as const;
