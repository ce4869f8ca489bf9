import { addressOf, allNodes, membersByGroup, type NodeAttributes } from '../cluster.ts';
import { path } from '../client.ts';
import { UsageError } from '../client-errors.ts';
import { told } from '../familiar.ts';
import { hidden } from '../hidden.ts';
import type { CliCommand } from '../invocation.ts';
import { parseOptions } from '../options.ts';

const usage = `Usage: muster inventory --list
       muster inventory --host NODE

The cluster for Ansible, as its contract of dynamic inventories wants it: groups with their hosts, and variables of hosts. Every
attribute of a node is the variable muster_ATTRIBUTE; ansible_host is its address, where it has one. A file that Ansible can be pointed at:

    #!/bin/sh
    exec muster inventory "$@"`;

export const command: CliCommand = {
  usage,
  async run({ argv, client, stdout }) {
    const options = parseOptions(argv, { 'help|h': 'flag', list: 'flag', host: 'value' });
    if (options.flag('help')) return told({ stdout }, usage);
    const host = options.value('host');
    if (host !== undefined) {
      const found = (await client.get(path('nodes', host))) as Record<string, NodeAttributes>;
      return told({ stdout }, JSON.stringify(variables(found[host] ?? {}), null, 2));
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
    return told({ stdout }, JSON.stringify({ ...groups, _meta: { hostvars }, all }, null, 2));
  },
};

type Variable = string | { readonly __ansible_unsafe: string };

/** Ansible would run what stands between braces, as whoever called it; this tells it that the text is only a text. */
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
