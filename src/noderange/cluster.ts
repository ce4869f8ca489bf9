import type { PatternAllowance } from '../core/patterns.ts';
import type { Criterion } from './criterion.ts';

/** What a range may ask of the cluster. */
export interface Cluster {
  hasNode(name: string): boolean;
  /** Members of a static or dynamic group, hidden nodes left out; undefined if there is no such group, an empty list if it has no members. */
  group(name: string): readonly string[] | undefined;
  /** All nodes a criterion selects, within what the patterns of a range may cost. Throws a Fault for a column that is unknown or secret. */
  select(criterion: Criterion, patterns: PatternAllowance): Iterable<string>;
  nodeNames(): Iterable<string>;
  /**
   * Whether the caller may know of the node. Other nodes, and groups of others alone, are as unknown as if they did not exist; what is
   * intersected or taken out passes over the other members of a group, so that no answer says anything of them. Absent: of all.
   */
  sees?(name: string): boolean;
  /** With all nodes, where some are not seen: for what the site itself says. */
  readonly whole?: Cluster;
  /** Lines of a range file, or undefined if it cannot be read. Absent: `^file` is switched off. */
  file?(path: string): string[] | undefined;
}
