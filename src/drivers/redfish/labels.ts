import type { Labelled } from '../capabilities.ts';

export type Line = readonly [label: string, value: string];

/** The label of lines without one. */
export const message = 'Message';

/** Lines by label in their order; a label that comes again keeps all its values. */
export function labelled(lines: readonly Line[]): Labelled {
  const values = new Map<string, string[]>();
  for (const [label, value] of lines) {
    const before = values.get(label);
    if (before) before.push(value);
    else values.set(label, [value]);
  }
  const entries = [...values].map(
    ([label, all]) => [label, all.length > 1 || label === message ? all : all[0]!] as const,
  );
  return Object.fromEntries(entries);
}

/** A line for each value that is there. */
export function present(...lines: readonly (readonly [string, string | number | undefined])[]): readonly Line[] {
  return lines.flatMap(([label, value]) => (value === undefined ? [] : [[label, String(value)] as const]));
}
