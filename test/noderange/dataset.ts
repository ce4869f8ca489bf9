import { readFileSync } from 'node:fs';
import { Fault } from '../../src/core/errors.ts';
import { type Cluster, type Criterion, criterionTest } from '../../src/noderange/index.ts';

type Row = Record<string, string>;
interface Dataset {
  nodelist: { node: string; groups: string }[];
  nodegroup: { groupname: string; grouptype: string; wherevals?: string }[];
  nodehm: Row[];
  nodetype: Row[];
  files: Record<string, string>;
}

export function testData<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(`../data/${file}`, import.meta.url), 'utf8')) as T;
}

const columns: Record<string, readonly string[]> = {
  nodelist: ['node', 'groups'],
  nodehm: ['node', 'mgt', 'cons'],
  nodetype: ['node', 'os', 'arch'],
};

/** The cluster the cases were observed on: a node's own row before those of its groups. */
export function datasetCluster(): Cluster {
  const data = testData<Dataset>('noderange-dataset.json');
  const groupsOf = new Map(data.nodelist.map(({ node, groups }) => [node, groups]));
  const names = [...groupsOf.keys()];

  function valueOf(node: string, table: string, column: string): string {
    if (table === 'nodelist') return column === 'groups' ? (groupsOf.get(node) ?? '') : node;
    const rows = table === 'nodehm' ? data.nodehm : data.nodetype;
    for (const key of [node, ...(groupsOf.get(node) ?? '').split(',')]) {
      const value = rows.find((row) => row.node === key)?.[column];
      if (value !== undefined) return value;
    }
    return '';
  }
  function select(criterion: Criterion): string[] {
    const { table, column } = criterion;
    if (!columns[table]?.includes(column)) throw new Fault('invalid', `${criterion.text}: no such attribute.`);
    const matches = criterionTest(criterion);
    return names.filter((name) => matches(valueOf(name, table, column)));
  }
  return {
    hasNode: (name) => groupsOf.has(name),
    group(name) {
      const row = data.nodegroup.find(({ groupname }) => groupname === name);
      const [, value] = row?.wherevals?.split('mgt==') ?? [];
      if (value !== undefined) {
        return select({ table: 'nodehm', column: 'mgt', op: '==', value, text: row?.wherevals ?? '', at: 1 });
      }
      const members = names.filter((node) => groupsOf.get(node)?.split(',').includes(name));
      return members.length > 0 || row ? members : undefined;
    },
    select,
    nodeNames: () => names,
    file: (path) => data.files[path]?.replace(/\n$/, '').split('\n'),
  };
}

/** A cluster of nodes without groups. */
export function plainCluster(names: Iterable<string> = []): Cluster {
  const nodes = new Set(names);
  return {
    hasNode: (name) => nodes.has(name),
    group: () => undefined,
    select: () => [],
    nodeNames: () => nodes,
  };
}
