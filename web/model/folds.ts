// What many nodes have in common, said once.
import { byName } from './ranges.ts';

/** A line of a reply that comes node by node; the last one is about no node. */
export interface NodeLine {
  readonly node?: string;
  readonly value?: unknown;
  readonly error?: string;
}

/** Nodes by what was said of them. */
export type Folds = ReadonlyMap<string, readonly string[]>;

/** Sentences about nodes, each once with the nodes that it is about. */
export function foldReasons(reasons: Iterable<readonly [node: string, reason: string]>): Folds {
  const found = new Map<string, string[]>();
  for (const [node, reason] of reasons) {
    const text = reason.startsWith(`${node}: `) ? reason.slice(node.length + 2) : reason;
    found.set(text, [...(found.get(text) ?? []), node]);
  }
  return found;
}

/** Those that most nodes have first. */
export const mostFirst = (folds: Folds): [text: string, names: readonly string[]][] =>
  [...folds].sort(([a, some], [b, others]) => others.length - some.length || byName(a, b));
