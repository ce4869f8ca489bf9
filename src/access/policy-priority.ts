/** A priority is a dotted number: `1`, `4.9`, `1.10`. */
export function isPriority(text: string): boolean {
  return /^\d+(\.\d+)*$/.test(text);
}

/** As numbers, then as text: 9 before 10, 1.10 (which is 1.1) before 1.9, and 1.1 before 1.10. */
export function comparePriority(a: string, b: string): number {
  const first = Number.parseFloat(a) || 0;
  const second = Number.parseFloat(b) || 0;
  if (first !== second) return first - second;
  return a < b ? -1 : a > b ? 1 : 0;
}
