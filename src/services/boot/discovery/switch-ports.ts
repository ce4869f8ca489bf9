/** The name of a switch without its domain, in lower case. */
export const switchName = (text: string): string => text.trim().toLowerCase().split('.', 1)[0]!;

/** A port as definitions write it: `GigabitEthernet1/0/3` and `Gi1/0/3` are the same. */
export function portName(text: string): string {
  const lower = text.trim().toLowerCase().replaceAll(/\s+/g, '');
  return lower.replace(/^[a-z]+(?=\d)/, (letters) => letters.slice(0, 2));
}

/**
 * What definitions may call a port that calls itself so. A number alone means it if nothing before it counts: `swp3`, `Gi1/0/3`, but not
 * `Gi2/0/3`, which is on another switch of a stack.
 */
export function namesOfPort(text: string): string[] {
  const [, before = '', number] = /^(?:[a-z]*)((?:[01][/.:])*)0*(\d+)$/.exec(portName(text)) ?? [];
  return [...new Set([portName(text), ...(number === undefined ? [] : [number, before + number])])];
}
