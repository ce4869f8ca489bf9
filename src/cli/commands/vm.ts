import { machineOptions } from '../../core/machine-options.ts';
import { path } from '../client.ts';
import { optionBody, optionTable, optionUsage } from '../command-options.ts';
import { labelled, type NodeCall, nodeCommand, work } from '../nodes/node-command.ts';
import type { NodeReport } from '../nodes/work.ts';
import { type OptionTable, refused } from '../options.ts';

interface MachineCommand {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Below the nodes. */
  readonly at: string;
  readonly text: string;
  /** Options of xCAT that muster refuses. */
  readonly refuses?: OptionTable;
  readonly words?: number;
  readonly report?: NodeReport;
}

/** A command on virtual machines: its options are those that the command itself declares. */
function machineCommand(
  name: keyof typeof machineOptions,
  { method, at, text, refuses, words, report }: MachineCommand,
) {
  const options = machineOptions[name];
  return nodeCommand({
    usage: `Usage: ${name} NODERANGE ${optionUsage(options)}

  ${text}`,
    options: { ...optionTable(options), ...refuses },
    ...(words === undefined ? {} : { words }),
    run(call) {
      const body = optionBody(options, call, call.words);
      return work(call, { method, at: path('nodes', call.range, at), body }, { lines: () => [], ...report });
    },
  });
}

/** What the server says of a node, if anything. */
const sentence =
  (member: string) =>
  (value: unknown): string[] =>
    [(value as Readonly<Record<string, string | undefined>>)[member] ?? ''].filter(Boolean);

export const mkvm = machineCommand('mkvm', {
  method: 'POST',
  at: 'vm',
  text: 'Makes the virtual machines of nodes as their attributes say.',
  refuses: {
    'master|m': refused('clonevm -b makes machines from a master.', 'value'),
    'petitboot|p': refused('muster makes no machines that boot by petitboot.'),
  },
});

export const chvm = machineCommand('chvm', {
  method: 'PUT',
  at: 'vm',
  text: 'Changes the virtual machines of nodes, without stopping those that run.',
  refuses: { d: refused('muster does not detach disks and keep them; -p deletes them.', 'value') },
});

const cloning = machineCommand('clonevm', {
  method: 'POST',
  at: 'vmclone',
  text: 'Makes a master of a machine (-t), or machines from a master (-b).',
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
});

export const rmigrate = machineCommand('rmigrate', {
  method: 'POST',
  at: 'vmmigrate',
  text: 'Moves virtual machines to another hypervisor, without stopping those that run.',
  words: 1,
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
