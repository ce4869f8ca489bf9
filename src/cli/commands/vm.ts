import { path } from '../client.ts';
import { labelled, type NodeCall, nodeCommand, work } from '../nodes/node-command.ts';
import { flag, refused, valued } from '../options.ts';

type Members = Readonly<Record<string, string>>;

/** The body of a request by the options that were given; flags become `yes`. */
const bodyOf = (call: NodeCall, values: Members, flags: Members): Record<string, string> =>
  Object.fromEntries([
    ...Object.entries(values).flatMap(([member, name]) => (call.has(name) ? [[member, call.value(name)!]] : [])),
    ...Object.entries(flags).flatMap(([member, name]) => (call.flag(name) ? [[member, 'yes']] : [])),
  ]) as Record<string, string>;

const force = { 'force|f': flag('replace disks that are in the way') };
const size = {
  mem: valued('SIZE', 'memory'),
  cpus: valued('NUMBER', 'processors'),
};

export const mkvm = nodeCommand({
  usage: `Usage: mkvm NODERANGE [-s SIZE,...] [--mem SIZE] [--cpus NUMBER] [-f]

  Makes the virtual machines of nodes as their attributes say.`,
  options: {
    'size|s': valued('SIZE,...', 'disks to make, in gigabytes or with a unit'),
    ...size,
    ...force,
    'master|m': refused('clonevm -b makes machines from a master.', 'value'),
    'petitboot|p': refused('muster makes no machines that boot by petitboot.'),
  },
  run(call) {
    const body = bodyOf(call, { disksize: 'size', memorysize: 'mem', cpucount: 'cpus' }, { force: 'force' });
    return work(call, { method: 'POST', at: path('nodes', call.range, 'vm'), body }, { lines: () => [] });
  },
});

export const chvm = nodeCommand({
  usage: `Usage: chvm NODERANGE [--mem SIZE] [--cpus NUMBER] [-a SIZE,...] [-p DISK,...] [--resize DISK=SIZE,...]

  Changes the virtual machines of nodes, as they run if they do.`,
  options: {
    ...size,
    a: valued('SIZE,...', 'make disks'),
    p: valued('DISK,...', 'delete disks'),
    resize: valued('DISK=SIZE,...', 'grow disks'),
    'force|f': flag('also disks that are in the way, or that somebody else has made'),
    d: refused('muster does not detach disks and keep them; -p deletes them.', 'value'),
  },
  run(call) {
    const values = { memorysize: 'mem', cpucount: 'cpus', adddisk: 'a', purgedisk: 'p', resizedisk: 'resize' };
    const body = bodyOf(call, values, { force: 'force' });
    return work(call, { method: 'PUT', at: path('nodes', call.range, 'vm'), body }, { lines: () => [] });
  },
});

/** What the server says of a node, if anything. */
const sentence =
  (member: string) =>
  (value: unknown): string[] =>
    [(value as Readonly<Record<string, string | undefined>>)[member] ?? ''].filter(Boolean);

const cloning = nodeCommand({
  usage: `Usage: clonevm NODERANGE -t MASTER | -b MASTER [-d] [-f]

  Makes a master of a machine, or machines from a master.`,
  options: {
    'target|t': valued('MASTER', 'make this master of a machine'),
    'base|b': valued('MASTER', 'make machines from this master'),
    'detached|d': flag('with disks of their own'),
    'force|f': flag('also of a machine that runs; disks in the way are replaced'),
  },
  run(call) {
    const body = bodyOf(call, { tomaster: 'target', frommaster: 'base' }, { detach: 'detached', force: 'force' });
    const request = { method: 'POST', at: path('nodes', call.range, 'vmclone'), body } as const;
    return work(call, request, { lines: sentence('vmclone') });
  },
});

/** Without a word it is silent. */
export const clonevm = {
  ...cloning,
  run: (invocation: Parameters<typeof cloning.run>[0]) =>
    invocation.argv.length === 0 ? Promise.resolve(0) : cloning.run(invocation),
};

export const rmvm = nodeCommand({
  usage: `Usage: rmvm NODERANGE [-p] [-f]

  Removes the virtual machines of nodes; the nodes stay.`,
  options: { p: flag('their disks too'), f: flag('also those that run, and those that muster has not made') },
  run(call) {
    const body = bodyOf(call, {}, { purge: 'p', force: 'f' });
    const request = { method: 'DELETE', at: path('nodes', call.range, 'vm'), body } as const;
    return work(call, request, { lines: () => [], question: 'Remove the virtual machines of' });
  },
});

export const rmigrate = nodeCommand({
  usage: `Usage: rmigrate NODERANGE TARGET

  Moves virtual machines to another hypervisor, as they run if they do.`,
  words: 1,
  run(call) {
    const [target] = call.words;
    const body = target === undefined ? {} : { target };
    const request = { method: 'POST', at: path('nodes', call.range, 'vmmigrate'), body } as const;
    return work(call, request, { lines: sentence('vmmigrate') });
  },
});

export const lsvm = nodeCommand({
  usage: `Usage: lsvm NODERANGE

  The machines of hypervisors, or the virtual machine of a node as its hypervisor has it.`,
  async run(call) {
    const { client, stdout } = call.invocation;
    const at = path('nodes', call.range, 'attrs', 'mgt');
    const kinds = (await client.get(at, { aside: true })) as Record<string, { mgt?: string }>;
    const [machines, hypervisors] = [true, false].map((isMachine) =>
      Object.keys(kinds).filter((node) => (kinds[node]!.mgt === 'kvm') === isMachine),
    );
    const described = await ask(call, machines!, 'inventory', labelled);
    const listed = await ask(call, hypervisors!, 'subnodes', (_value, machine) => {
      stdout.line(machine);
      return [];
    });
    return Math.max(described, listed);
  },
});

async function ask(
  call: NodeCall,
  nodes: readonly string[],
  word: string,
  lines: (value: unknown, node: string) => readonly string[],
): Promise<number> {
  if (nodes.length === 0) return 0;
  const range = nodes.join(',');
  return work({ ...call, range }, { method: 'GET', at: path('nodes', range, word) }, { lines });
}
