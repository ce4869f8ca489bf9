type Env = Readonly<Record<string, string | undefined>>;

/** What a noderange becomes before it is sent. */
export type Shorthand = (range: string) => string;

/** A piece of a noderange, with its brackets whole, or what stands between two. */
const pieces = /(?:\[[^\]]*\]|[^,@()[])+|[,@()[]/g;
const numbers = /^(-?)(\d+)(?:([-:+])(\d+))?$/;

/**
 * xCAT's shorthand `10-20` stands for node10-node20. XCAT_NODE_PREFIX and XCAT_NODE_SUFFIX put other words before and behind such numbers;
 * without them the server knows what is meant.
 */
export function shorthandOf({ XCAT_NODE_PREFIX: before, XCAT_NODE_SUFFIX: after = '' }: Env): Shorthand | undefined {
  if (!before && after === '') return undefined;
  const name = (number: string): string => `${before || 'node'}${number}${after}`;
  const whole = (piece: string): string => {
    const [, minus, first, operator, second] = numbers.exec(piece) ?? [];
    if (first === undefined) return piece;
    if (operator === undefined) return `${minus}${name(first)}`;
    const last = operator === '+' ? String(BigInt(first) + BigInt(second!)).padStart(first.length, '0') : second;
    return `${minus}${name(`[${first}-${last}]`)}`;
  };
  // Patterns and names of files are nobody's numbers.
  return (range) => (/^[/^]/.test(range) ? range : (range.match(pieces) ?? []).map(whole).join(''));
}

/** The path of a request, its noderange written out. */
export function pathWith(shorthand: Shorthand, at: string): string {
  return at.replace(
    /^(\/nodes\/|\/definitions\/node\/|\/tables\/[^/]+\/nodes\/)([^/?]+)/,
    (_, start: string, range: string) => {
      const written = decodeURIComponent(range);
      return written === 'ALLRESOURCES' ? `${start}${range}` : `${start}${encodeURIComponent(shorthand(written))}`;
    },
  );
}

/** Members of bodies that are nodes, by the ends of paths. */
const rangesInBodies = { '/discovery': 'noderange', '/vmmigrate': 'target', '/services/host': 'only' };

/** The same for the nodes that a body names, of definitions too. */
export function bodyWith(shorthand: Shorthand, at: string, body: unknown): unknown {
  const given = (body ?? {}) as Readonly<Record<string, unknown>>;
  for (const [end, member] of Object.entries(rangesInBodies)) {
    const range = given[member];
    if (at.endsWith(end) && typeof range === 'string') return { ...given, [member]: shorthand(range) };
  }
  const { definitions } = given;
  if (!Array.isArray(definitions)) return body;
  return {
    ...given,
    definitions: (definitions as readonly { readonly type?: unknown; readonly names?: unknown }[]).map((each) =>
      each.type === 'node' && typeof each.names === 'string' ? { ...each, names: shorthand(each.names) } : each,
    ),
  };
}
