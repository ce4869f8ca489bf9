const collator = new Intl.Collator('en', { numeric: true });

/** Names in the order people expect, n2 before n10. */
export const byName = (a: string, b: string): number => collator.compare(a, b) || (a < b ? -1 : Number(a > b));
