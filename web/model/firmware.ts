import { foldReasons, mostFirst } from './folds.ts';
import { byName } from './ranges.ts';

/** What `GET /nodes/{noderange}/firmware` says of one node: versions by what has them, and its model. */
export type NodeFirmware = Readonly<Record<string, string | readonly string[]>>;

/** A part of machines, with the nodes of each version. */
export interface Component {
  readonly label: string;
  /** As updates name it; undefined: it is the model of the machine. */
  readonly name: string | undefined;
  readonly versions: readonly (readonly [version: string, names: readonly string[]])[];
}

const model = 'System Model';

export function componentsOf(found: ReadonlyMap<string, NodeFirmware>): readonly Component[] {
  const labels = [...new Set([...found.values()].flatMap((each) => Object.keys(each)))];
  return labels
    .sort((a, b) => Number(b === model) - Number(a === model) || byName(a, b))
    .map((label) => {
      const versions = [...found].flatMap(([node, each]) =>
        Object.hasOwn(each, label) ? [each[label]!].flat().map((version) => [node, version] as const) : [],
      );
      const name = /\(([^()]+)\)$/.exec(label)?.[1] ?? label;
      return { label, name: label === model ? undefined : name, versions: mostFirst(foldReasons(versions)) };
    });
}
