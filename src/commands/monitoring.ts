import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { mapInSlices } from '../core/slices.ts';
import { objectNames } from '../objects/definitions.ts';
import { listItems } from '../core/list-items.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { nodeType } from '../objects/types.ts';
import { everyNode, noArguments, nodeArguments, noLine, query, selectNodes } from './command.ts';

/** What the service counts about itself, for Prometheus. It names commands and how many nodes they had, no nodes. */
export const metrics = query({
  name: 'metrics',
  args: noArguments,
  uses: ['metrics'],
  line: noLine,
  select: () => everyNode,
  run: (_snapshot, _args, { metrics: collected }) => ({
    shape: 'text',
    type: 'text/plain; version=0.0.4; charset=utf-8',
    text: collected.text(),
  }),
});

/** Attributes that become labels. */
const labelled = ['rack', 'room', 'os', 'arch', 'provmethod'] as const;

/** Targets for the HTTP service discovery of Prometheus: nodes with the same groups and labels together. */
export const sd = query({
  name: 'sd',
  args: Type.Object({
    range: Type.Optional(nodeArguments.range),
    port: Type.Optional(Type.String({ description: 'of the exporter' })),
  }),
  uses: ['exporterPort'],
  line: ({ port }) => (port === undefined ? [] : ['-p', port]),
  select(snapshot, { range }, services) {
    if (range !== undefined) return selectNodes(snapshot, { range }, services);
    const nodes = objectNames(snapshot, nodeType);
    return { objects: nodes, nodes };
  },
  async run(snapshot, { port }, { selection: { nodes = [] }, exporterPort }) {
    const at = port === undefined ? exporterPort : checkedPort(port);
    const reader = effectiveReader(snapshot);
    const targets = new Map<string, { targets: string[]; labels: Record<string, string> }>();
    await mapInSlices(nodes, (node) => {
      const groups = listItems(reader.nodeRow(node)?.['groups'] ?? '');
      const labels: Record<string, string> = { __meta_muster_groups: `,${groups.join(',')},` };
      for (const name of labelled) labels[`__meta_muster_${name}`] = nodeAttribute(reader, node, name) ?? '';
      const key = JSON.stringify(labels);
      const known = targets.get(key);
      if (known) known.targets.push(`${node}:${at}`);
      else targets.set(key, { targets: [`${node}:${at}`], labels });
    });
    return { shape: 'value', value: [...targets.values()] };
  },
});

function checkedPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new Fault('invalid', `"${text}" is not a port; give a number from 1 to 65535.`);
  return port;
}
