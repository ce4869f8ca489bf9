import type { Labelled } from '../capabilities.ts';

export type Line = readonly [label: string, value: string];

/** The label of lines without one. */
export const message = 'Message';

/** Lines by label in their order; a label that comes again keeps all its values. */
export function labelled(lines: readonly Line[]): Labelled {
  const byLabel = Map.groupBy(lines, ([label]) => label);
  const entries = [...byLabel].map(([label, same]): [string, Labelled[string]] => {
    const [first, ...more] = same.map(([, value]) => value);
    return [label, more.length > 0 || label === message ? [first!, ...more] : first!];
  });
  return Object.fromEntries(entries);
}

/** A line for each value that is there. */
export function present(...lines: readonly (readonly [string, string | number | undefined])[]): readonly Line[] {
  return lines.flatMap(([label, value]) => (value === undefined ? [] : [[label, String(value)] as const]));
}
