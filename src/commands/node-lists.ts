import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { mapInSlices } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { checkAttributeNames } from '../objects/define.ts';
import { chosenAttributes, objectNames } from '../objects/definitions.ts';
import type { Attributes } from '../objects/node-attributes.ts';
import { existingObjects } from '../objects/select.ts';
import { definitionWords } from '../objects/shown-arguments.ts';
import { nodeType } from '../objects/types.ts';
import { query, type Ranges, type Selection } from './command.ts';

const listed = {
  names: Type.Optional(Type.String({ description: 'a range; without it all nodes' })),
  attributes: Type.Array(Type.String()),
};

interface Listed {
  readonly names?: string | undefined;
  readonly attributes: readonly string[];
  readonly sort?: string | undefined;
}

/** The attribute that nodes are sorted by; undefined: by none. */
function sortAttribute(sort: string | undefined): string | undefined {
  const key = sort?.replace(/^-/, '');
  return key === 'node' ? undefined : key;
}

/** All attributes that are read: the order of nodes tells what they are sorted by. */
const readOf = ({ attributes, sort }: Listed): readonly string[] => {
  const key = sortAttribute(sort);
  return key === undefined || attributes.includes(key) ? attributes : [...attributes, key];
};

/** As lsdef reads the same attributes, so that the same rules decide. */
const base = {
  name: 'lsdef',
  line: (given: Listed) => [
    ...(given.names === undefined ? ['-t', nodeType.name, '-l'] : definitionWords(nodeType.name, given.names)),
    '-i',
    readOf(given).join(','),
  ],
  select(snapshot: Snapshot, { names }: Listed, { ranges }: Ranges): Selection {
    const nodes =
      names === undefined ? objectNames(snapshot, nodeType) : existingObjects(snapshot, nodeType, names, ranges);
    return { objects: nodes, nodes };
  },
} as const;

const check = (attributes: readonly string[]): void =>
  checkAttributeNames(nodeType, Object.fromEntries(attributes.map((name) => [name, ''])), true);

const { compare } = new Intl.Collator('en', { numeric: true });

/** Values of an attribute that stands for several, such as nicips, are one text. */
const valueOf = (snapshot: Snapshot, node: string, attribute: string): string =>
  Object.values(chosenAttributes(snapshot, nodeType, node, [attribute])).join(',');

/** A part of a list of nodes, sorted. */
export const lsdefPage = query({
  ...base,
  args: Type.Object({
    ...listed,
    sort: Type.Optional(Type.String({ description: 'an attribute, or node; with - before it the other way round' })),
    offset: Type.Integer({ minimum: 0 }),
    limit: Type.Integer({ minimum: 1, maximum: 10_000 }),
  }),
  async run(snapshot, { attributes, sort, offset, limit }, { selection }) {
    const key = sortAttribute(sort);
    if (key === '') throw new Fault('malformed', 'sort: name an attribute, or node.');
    check(readOf({ attributes, sort }));
    const names = selection.objects ?? [];
    const sorted = sort === undefined ? names : await sortedBy(snapshot, names, key, sort.startsWith('-'));
    const nodes = sorted.slice(offset, offset + limit).map(
      (node): Attributes => ({
        ...chosenAttributes(snapshot, nodeType, node, attributes),
        node,
      }),
    );
    return { shape: 'value', value: { count: names.length, offset, nodes } };
  },
});

/** By an attribute, or by their names. Nodes with equal values stay in the order that they have. */
async function sortedBy(
  snapshot: Snapshot,
  names: readonly string[],
  key: string | undefined,
  isDown: boolean,
): Promise<string[]> {
  const values = await mapInSlices(names, (node) => (key === undefined ? node : valueOf(snapshot, node, key)));
  const groups = Map.groupBy(names.keys(), (i) => values[i]!);
  const order = [...groups.keys()].sort((a, b) => (isDown ? compare(b, a) : compare(a, b)));
  return order.flatMap((value) => groups.get(value)!.map((i) => names[i]!));
}

const mostValues = 1_000;

/** How many nodes have each value of attributes. */
export const lsdefCounts = query({
  ...base,
  args: Type.Object(listed),
  async run(snapshot, { attributes }, { selection }) {
    if (attributes.length > 20) throw new Fault('invalid', 'Count the values of at most 20 attributes in one request.');
    check(attributes);
    const names = selection.objects ?? [];
    const counts: [string, object][] = [];
    for (const attribute of attributes) {
      const found = new Map<string, number>();
      for (const value of await mapInSlices(names, (node) => valueOf(snapshot, node, attribute)))
        found.set(value, (found.get(value) ?? 0) + 1);
      const values = [...found].map(([value, count]) => ({ value, count }));
      values.sort((a, b) => b.count - a.count || compare(a.value, b.value));
      const others = values.slice(mostValues).reduce((sum, { count }) => sum + count, 0);
      counts.push([attribute, { values: values.slice(0, mostValues), others }]);
    }
    return { shape: 'value', value: { count: names.length, counts: Object.fromEntries(counts) } };
  },
});
