import { join } from 'node:path';
import { home } from '../../core/home.ts';
import { type Client, path } from '../client.ts';
import { musterCommand, say } from '../command.ts';
import { reading } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { groupFromServer, nodeFromServer } from '../from-server.ts';
import { hidden } from '../lines.ts';
import { foldNames } from '../nodes/results.ts';
import { flag, valued } from '../options.ts';

type NodeAttributes = Readonly<Record<string, string>>;

/** All nodes with their attributes; none where there are none. Their names go into files of other programs. */
async function allNodes(client: Client): Promise<Readonly<Record<string, NodeAttributes>>> {
  try {
    const nodes = (await client.get('/nodes/all')) as Record<string, NodeAttributes>;
    Object.keys(nodes).forEach(nodeFromServer);
    return nodes;
  } catch (error) {
    // Before the first node there is no group of all of them either.
    if (error instanceof Refused && (error.isEmpty || error.kind === 'unknown-object')) return {};
    throw error;
  }
}

const groupsOf = ({ groups = '' }: NodeAttributes): string[] => groups.split(',').filter(Boolean).map(groupFromServer);

/** Nodes by their groups. */
function membersByGroup(nodes: Readonly<Record<string, NodeAttributes>>): Map<string, string[]> {
  const members = new Map<string, string[]>();
  for (const [node, attributes] of Object.entries(nodes))
    for (const group of groupsOf(attributes)) {
      const list = members.get(group);
      if (list) list.push(node);
      else members.set(group, [node]);
    }
  return members;
}

/** The address, if other programs can read nothing else into it. */
const addressOf = ({ ip = '' }: NodeAttributes): string | undefined =>
  /^[A-Za-z0-9][A-Za-z0-9._:-]*$/.test(ip) ? ip : undefined;

export const clustershell = musterCommand({
  usage: `Usage: muster clustershell > /etc/clustershell/groups.conf.d/muster.conf

Prints a source of groups for ClusterShell, so that clush -w @muster:rack1 and nodeset -f @muster:rack1 use muster's groups; with
"default: muster" in groups.conf it is clush -w @rack1.`,
  run(invocation) {
    const muster = join(home, 'bin/muster');
    return say(
      invocation,
      [
        '[muster]',
        `map: ${muster} nodels "$GROUP"`,
        `all: ${muster} nodels all`,
        `list: ${muster} groups`,
        `reverse: ${muster} groups "$NODE"`,
      ].join('\n'),
    );
  },
});

/** Blanks, commas and equal signs would be read as something else. */
const isPlain = (value: string): boolean => /^[^\s,=#]+$/.test(value);

export const genders = musterCommand({
  usage: `Usage: muster genders [-i ATTRIBUTE,...]

Prints a genders file: each node with its groups and, as attribute=value, the attributes that are named.`,
  options: { i: valued('ATTRIBUTE,...', 'attributes to print') },
  async run({ client, stdout }, options) {
    const wanted = options.value('i')?.split(',') ?? [];
    for (const [node, attributes] of Object.entries(await allNodes(client))) {
      const values = wanted.flatMap((name) => {
        const value = attributes[name] ?? '';
        return isPlain(value) ? `${name}=${value}` : [];
      });
      await stdout.line(`${node} ${[...groupsOf(attributes), ...values].join(',')}`.trimEnd());
    }
    return 0;
  },
});

export const groupsCommand = musterCommand({
  usage: `Usage: muster groups [NODERANGE]

Lists the groups that nodes are in; without a range all groups that have nodes.`,
  operands: [0, 1, 'Name one noderange; separate nodes by commas.'],
  common: reading,
  async run(invocation, { operands: [range], common: { format } }) {
    const { client, stdout } = invocation;
    const names =
      range === undefined
        ? [...membersByGroup(await allNodes(client)).keys()]
        : Object.values(
            (await client.get(path('nodes', range, 'attrs', 'groups'))) as Record<string, { groups: string }>,
          ).flatMap(groupsOf);
    const sorted = [...new Set(names)].sort();
    if (format)
      return writeData(
        invocation,
        format,
        sorted.map((group) => ({ group })),
      );
    for (const name of sorted) await stdout.line(name);
    return 0;
  },
});

export const slurm = musterCommand({
  usage: `Usage: muster slurm nodes [--addresses]
       muster slurm partitions [GROUP]...

Lines for slurm.conf. nodes: NodeName, with CPUs and RealMemory if the attributes cpucount and memory are set; equal nodes share
a line. partitions: a partition for each group, or for those that are named.`,
  options: { addresses: flag('with nodes: add NodeAddr, a line for each node') },
  operands: [1, Number.POSITIVE_INFINITY, 'Say what is wanted, nodes or partitions.'],
  async run({ client, stdout }, options) {
    const [what, ...words] = options.operands;
    if (what !== 'nodes' && what !== 'partitions') throw new UsageError('Say what is wanted, nodes or partitions.');
    const addresses = options.flag('addresses');
    if (what === 'nodes' && words.length > 0)
      throw new UsageError(`"${words[0]}" means nothing to muster slurm nodes.`);
    if (what === 'partitions' && addresses) throw new UsageError('--addresses is for muster slurm nodes.');
    const nodes = await allNodes(client);
    const lines = what === 'nodes' ? nodeLines(nodes, addresses) : partitionLines(nodes, words);
    for (const line of lines) await stdout.line(line);
    return 0;
  },
});

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

export const inventory = musterCommand({
  usage: `Usage: muster inventory --list
       muster inventory --host NODE

Prints the cluster as a dynamic inventory for Ansible: groups with their hosts, and variables of hosts. Every attribute of a node is
the variable muster_ATTRIBUTE; ansible_host is its address, if it has one. Give ansible -i this executable file:

    #!/bin/sh
    exec muster inventory "$@"`,
  options: { list: flag('everything'), host: valued('NODE', 'the variables of one node') },
  async run(invocation, options) {
    const { client } = invocation;
    const host = options.value('host');
    if (host !== undefined) {
      const found = (await client.get(path('nodes', host))) as Record<string, NodeAttributes>;
      return say(invocation, JSON.stringify(variables(found[host] ?? {}), null, 2));
    }
    if (!options.flag('list')) throw new UsageError('Give --list or --host NODE.');
    const nodes = await allNodes(client);
    const members = membersByGroup(nodes);
    // Ansible has this group by itself, and all hosts are in it.
    members.delete('all');
    const groups = Object.fromEntries([...members].map(([group, hosts]) => [group, { hosts }]));
    const hostvars = Object.fromEntries(
      Object.entries(nodes).map(([node, attributes]) => [node, variables(attributes)]),
    );
    const all = { hosts: Object.keys(nodes), children: [...members.keys()] };
    return say(invocation, JSON.stringify({ ...groups, _meta: { hostvars }, all }, null, 2));
  },
});

type Variable = string | { readonly __ansible_unsafe: string };

/** Ansible would run what stands between braces, as whoever called it; this marks it as a text and nothing else. */
const asText = (value: string): Variable => (value.includes('{') ? { __ansible_unsafe: value } : value);

/** Names of variables have neither dots nor dashes. */
const variables = (attributes: NodeAttributes): Record<string, Variable> => ({
  ...(addressOf(attributes) === undefined ? {} : { ansible_host: addressOf(attributes)! }),
  ...Object.fromEntries(
    Object.entries(attributes)
      .filter(([, value]) => value !== hidden)
      .map(([name, value]) => [`muster_${name.replaceAll(/[^A-Za-z0-9_]/g, '_')}`, asText(value)]),
  ),
});
