import type { CommandOptions } from './command-options.ts';

const memory = { kind: 'size', member: 'memorysize', option: 'mem', value: 'SIZE' } as const;
const cpus = { kind: 'size', member: 'cpucount', option: 'cpus', value: 'NUMBER' } as const;
const disks = {
  kind: 'list',
  value: 'SIZE,...',
  help: 'disks to make: gigabytes, or with unit, several joined by commas',
} as const;
const force = { kind: 'flag', option: 'force|f' } as const;

/** The options of the commands on virtual machines. */
export const machineOptions = {
  mkvm: {
    disks: { ...disks, member: 'disksize', option: 'size|s' },
    memory: {
      ...memory,
      help: 'megabytes, or with unit such as 4G; default: the attribute vmmemory, else 512',
    },
    cpus: { ...cpus, help: 'processors; default: the attribute vmcpus, else 1' },
    force: { ...force, help: 'replace existing disks of the same names' },
  },
  chvm: {
    add: { ...disks, member: 'adddisk', option: 'a' },
    purge: {
      kind: 'list',
      member: 'purgedisk',
      option: 'p',
      value: 'DISK,...',
      help: 'disks to delete by the names of their devices, such as vdb, several joined by commas',
    },
    detach: {
      kind: 'list',
      member: 'detachdisk',
      option: 'd',
      value: 'DISK,...',
      help: 'disks to take from the machine and keep, by the names of their devices, several joined by commas',
    },
    resize: {
      kind: 'list',
      member: 'resizedisk',
      option: 'resize',
      value: 'DISK=SIZE,...',
      help: 'disks to grow: their devices with their new sizes, such as vdb=20, several joined by commas',
    },
    memory: { ...memory, help: 'megabytes, or with unit such as 4G' },
    cpus: { ...cpus, help: 'processors' },
    force: {
      ...force,
      help: 'replace existing disks of the same names; delete disks that muster did not make for the node',
    },
  },
  rmvm: {
    purge: { kind: 'flag', option: 'purge|p', help: 'delete their disks too' },
    force: { ...force, help: 'also remove machines that run, and machines and disks that muster did not make' },
  },
  clonevm: {
    tomaster: { kind: 'text', option: 'target|t', value: 'MASTER', help: 'make a master of this name from the node' },
    frommaster: {
      kind: 'text',
      option: 'base|b',
      value: 'MASTER',
      help: 'make the virtual machines of the nodes from this master',
    },
    detach: {
      kind: 'flag',
      option: 'detached|d',
      help: 'make full copies; without it disks hold only differences, and need the disks of the master',
    },
    force: { ...force, help: 'make a master also of a machine that runs; replace existing disks of the same names' },
  },
  rmigrate: { target: { kind: 'text', value: 'TARGET', required: true, help: 'the hypervisor to move to' } },
} as const satisfies Readonly<Record<string, CommandOptions>>;
