import { machineOptions } from '../../core/machine-options.ts';
import { path } from '../client.ts';
import { optionBody, optionTable, optionUsage } from '../command-options.ts';
import { UsageError } from '../errors.ts';
import { labelled, type NodeCall, nodeCommand, work } from '../nodes/node-command.ts';
import type { NodeReport } from '../nodes/work.ts';
import { type OptionTable, refused, valued } from '../options.ts';

interface MachineCommand {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Below the nodes. */
  readonly at: string;
  readonly text: string;
  /** Options of xCAT that muster refuses. */
  readonly refuses?: OptionTable;
  readonly words?: number;
  /** What is wrong with a call, by its options; the server would name members of the body instead. */
  readonly check?: (body: Readonly<Record<string, string>>) => string | undefined;
  readonly report?: NodeReport;
}

/** A command on virtual machines: its options are those that the command itself declares. */
function machineCommand(
  name: keyof typeof machineOptions,
  { method, at, text, refuses, words, check, report }: MachineCommand,
) {
  const options = machineOptions[name];
  return nodeCommand({
    usage: `Usage: ${name} NODERANGE ${optionUsage(options)}

  ${text}`,
    options: { ...optionTable(options), ...refuses },
    ...(words === undefined ? {} : { words }),
    run(call) {
      const body = optionBody(options, call, call.words);
      const wrong = check?.(body);
      if (wrong !== undefined) throw new UsageError(wrong);
      return work(call, { method, at: path('nodes', call.range, at), body }, { lines: () => [], ...report });
    },
  });
}

const silent: NodeReport = { lines: () => [] };

/** What the server says of a node, if anything. */
const sentence =
  (member: string) =>
  (value: unknown): string[] =>
    [(value as Readonly<Record<string, string | undefined>>)[member] ?? ''].filter(Boolean);

const making = machineOptions.mkvm;

export const mkvm = nodeCommand({
  usage: `Usage: mkvm NODERANGE ${optionUsage(making)}
       mkvm NODERANGE -m MASTER [-f]

  Makes the virtual machines of nodes as their attributes say, or from a master, as clonevm -b does.`,
  options: {
    ...optionTable(making),
    'master|m': valued('MASTER', 'make the virtual machines of the nodes from this master'),
    'petitboot|p': refused('muster makes no machines that boot by petitboot.'),
  },
  run(call) {
    const body = optionBody(making, call, call.words);
    const master = call.value('master');
    if (master === undefined) return work(call, { method: 'POST', at: path('nodes', call.range, 'vm'), body }, silent);
    const { force, ...sizes } = body;
    if (Object.keys(sizes).length > 0)
      throw new UsageError(
        'With -m the disks are those of the master; set vmcpus and vmmemory for processors and memory.',
      );
    const request = { frommaster: master, ...(force === undefined ? {} : { force }) };
    return work(
      call,
      { method: 'POST', at: path('nodes', call.range, 'vmclone'), body: request },
      { lines: sentence('vmclone') },
    );
  },
});

/** How to change what a machine gets only when it is made. */
const madeAgain = (attribute: string): string =>
  `set ${attribute}, then make the machine again with rmvm and mkvm; its disks stay.`;
const noMedia = 'muster attaches no media to virtual machines; boot installers from the network with rinstall.';

export const chvm = machineCommand('chvm', {
  method: 'PUT',
  at: 'vm',
  text: 'Changes the virtual machines of nodes, without stopping those that run.',
  check: (body) =>
    Object.keys(body).some((member) => member !== 'force')
      ? undefined
      : 'Say what to change: give any of --mem, --cpus, -a, -p, -d and --resize; chvm -h explains them.',
  refuses: {
    cpupin: refused(madeAgain('vmothersetting=vcpupin:PROCESSORS'), 'value'),
    membind: refused(madeAgain('vmothersetting=membind:NODES'), 'value'),
    devpassthru: refused(madeAgain('vmothersetting=devpassthrough:DEVICES'), 'value'),
    devdetach: refused(madeAgain('vmothersetting without devpassthrough'), 'value'),
    'optical|cdrom': refused(noMedia, 'value'),
    eject: refused(noMedia),
  },
});

const cloning = machineCommand('clonevm', {
  method: 'POST',
  at: 'vmclone',
  text: 'Makes a master of a machine (-t), or machines from a master (-b).',
  check({ tomaster, frommaster }) {
    if (tomaster && frommaster) return 'Give -t or -b, not both: -t makes a master, and -b makes machines from one.';
    return tomaster || frommaster
      ? undefined
      : 'Say what to make: -t MASTER makes a master of the node, -b MASTER makes the machines of the nodes from a master.';
  },
  report: { lines: sentence('vmclone') },
});

/** Without a word it is silent. */
export const clonevm = {
  ...cloning,
  run: (invocation: Parameters<typeof cloning.run>[0]) =>
    invocation.argv.length === 0 ? Promise.resolve(0) : cloning.run(invocation),
};

export const rmvm = machineCommand('rmvm', {
  method: 'DELETE',
  at: 'vm',
  text: 'Removes the virtual machines of nodes; the nodes stay.',
  report: { lines: () => [], question: 'Remove the virtual machines of' },
  refuses: { r: refused('only machines of Power have it.'), service: refused('only machines of Power have it.') },
});

export const rmigrate = machineCommand('rmigrate', {
  method: 'POST',
  at: 'vmmigrate',
  text: 'Moves virtual machines to another hypervisor, without stopping those that run.',
  words: 1,
  check: ({ target }) =>
    target
      ? undefined
      : 'Name the hypervisor to move to: rmigrate NODERANGE TARGET. lsdef -i vmhost shows where machines are.',
  report: { lines: sentence('vmmigrate') },
});

export const lsvm = nodeCommand({
  usage: `Usage: lsvm NODERANGE

  Shows the virtual machine of a node as its hypervisor has it. For a hypervisor (mgt=kvm, no vmhost) it lists the machines there.`,
  async run(call) {
    const { client, stdout } = call.invocation;
    const at = path('nodes', call.range, 'attrs', 'vmhost');
    const hosts = (await client.get(at, { aside: true })) as Record<string, { vmhost?: string }>;
    const [machines, hypervisors] = [true, false].map((isMachine) =>
      Object.keys(hosts).filter((node) => Boolean(hosts[node]!.vmhost) === isMachine),
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
