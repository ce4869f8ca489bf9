/** What is known of a node, in watts. */
export interface Draw {
  readonly node: string;
  /** Undefined: it cannot be read. */
  readonly drawn: number | undefined;
  /** The highest that was seen. */
  readonly highest: number | undefined;
  /** The range of its cap; undefined: it cannot be capped. */
  readonly cap: CapRange | undefined;
}

export interface CapRange {
  readonly least: number;
  readonly most: number;
}

export interface Spread {
  /** Whole watts, by node. Together with what the others draw at most they are within the budget, if it can be held. */
  readonly caps: ReadonlyMap<string, number>;
  /** What nodes without a cap draw at most. */
  readonly uncapped: number;
  /** Nodes of which nobody knows what they draw. */
  readonly unknown: readonly string[];
  /** What is missing to hold the budget; 0: nothing. */
  readonly missing: number;
}

/** What a node gets of the rest that draws nothing: it may begin to work at any time. */
const leastShare = 10;

/**
 * Divides a budget. Nodes that cannot be capped count with their highest draw. Each other node gets its least, and what is left is divided by
 * what they draw, up to the most of each.
 */
export function spread(budget: number, draws: readonly Draw[]): Spread {
  const fixed = draws.filter(({ cap }) => !cap);
  const capped = draws.flatMap((draw) => (draw.cap ? [{ ...draw, cap: draw.cap }] : []));
  const uncapped = fixed.reduce((sum, { drawn = 0, highest = 0 }) => sum + Math.max(drawn, highest), 0);
  const unknown = fixed.filter(({ drawn, highest }) => drawn === undefined && highest === undefined);
  const caps = new Map(capped.map(({ node, cap }) => [node, Math.ceil(cap.least)]));
  const least = [...caps.values()].reduce((sum, watts) => sum + watts, 0);
  let left = budget - uncapped - least;
  const missing = Math.max(0, Math.ceil(-left));
  let open = capped.filter(({ cap }) => cap.most > cap.least);
  // Whoever reaches its most leaves the rest to the others, so this ends.
  while (open.length > 0 && left >= 1) {
    const shares = open.map(({ drawn }) => Math.max(leastShare, drawn ?? 0));
    const all = shares.reduce((sum, share) => sum + share, 0);
    const full = new Set<string>();
    let given = 0;
    for (const [index, { node, cap }] of open.entries()) {
      const before = caps.get(node)!;
      const now = Math.min(Math.floor(cap.most), before + Math.floor((left * shares[index]!) / all));
      caps.set(node, now);
      given += now - before;
      if (now >= Math.floor(cap.most)) full.add(node);
    }
    left -= given;
    if (full.size === 0 || given === 0) break;
    open = open.filter(({ node }) => !full.has(node));
  }
  return { caps, uncapped, unknown: unknown.map(({ node }) => node), missing };
}
