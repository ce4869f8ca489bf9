import { addressOf, allNodes, membersByGroup, type NodeAttributes } from '../cluster.ts';
import { UsageError } from '../client-errors.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { asksHelp } from '../nodes/range-words.ts';
import { foldNames } from '../nodes/fold.ts';

const usage = `Usage: muster slurm nodes [--addresses]
       muster slurm partitions [GROUP]...

Lines for slurm.conf. nodes: NodeName with CPUs and RealMemory as far as the attributes cpucount and memory tell, nodes alike
together; --addresses adds NodeAddr, a line for each node. partitions: a partition for each group, or for those that are named.`;

export const command: CliCommand = {
  usage,
  async run({ argv, client, stdout }) {
    if (argv.some(asksHelp)) return told({ stdout }, usage);
    const [what, ...words] = argv;
    if (what !== 'nodes' && what !== 'partitions') throw new UsageError('Say what is wanted, nodes or partitions.');
    const nodes = await allNodes(client);
    const lines = what === 'nodes' ? nodeLines(nodes, words.includes('--addresses')) : partitionLines(nodes, words);
    for (const line of lines) await stdout.line(line);
    return 0;
  },
};

type Nodes = Readonly<Record<string, NodeAttributes>>;

function nodeLines(nodes: Nodes, withAddresses: boolean): string[] {
  const alike = new Map<string, string[]>();
  for (const [node, attributes] of Object.entries(nodes)) {
    const { cpucount = '', memory = '' } = attributes;
    const ip = withAddresses ? addressOf(attributes) : undefined;
    const address = ip === undefined ? [] : [`NodeAddr=${ip}`];
    const megabytes = megabytesIn(memory);
    const described = [
      ...address,
      ...(/^[1-9]\d*$/.test(cpucount) ? [`CPUs=${cpucount}`] : []),
      ...(megabytes === undefined ? [] : [`RealMemory=${megabytes}`]),
      'State=UNKNOWN',
    ].join(' ');
    const names = alike.get(described);
    if (names) names.push(node);
    else alike.set(described, [node]);
  }
  return [...alike].map(([described, names]) => `NodeName=${foldNames(names)} ${described}`);
}

function partitionLines(nodes: Nodes, wanted: readonly string[]): string[] {
  const members = membersByGroup(nodes);
  const groups = wanted.length > 0 ? wanted : [...members.keys()].sort();
  const unknown = groups.find((group) => !members.has(group));
  if (unknown !== undefined) throw new UsageError(`There is no group "${unknown}" that has nodes.`);
  return groups.map((group) => `PartitionName=${group} Nodes=${foldNames(members.get(group)!)} State=UP`);
}

const units: Readonly<Record<string, number>> = { '': 1, K: 1 / 1024, M: 1, G: 1024, T: 1024 * 1024 };

/** Sizes are written as 262144, 262144MB, 256GB or 256 GiB. */
function megabytesIn(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*$/i.exec(text);
  if (!match) return undefined;
  const megabytes = Math.floor(Number(match[1]) * units[match[2]!.toUpperCase()]!);
  return megabytes > 0 ? megabytes : undefined;
}
