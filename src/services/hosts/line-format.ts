import { ipText } from '../../core/ip.ts';
import type { HostEntry } from '../../objects/host-names.ts';

export const nameOrders = ['short', 'long', 'others'] as const;

/** Which of the names stands first in a line. */
export type NameOrder = (typeof nameOrders)[number];

export interface LineFormat {
  readonly order: NameOrder;
  /** Other names appear with the domain too. */
  readonly longOthers: boolean;
}

/** A line that ends with short and long name has a blank behind them, as the reference system writes it. */
export function formatLine({ ip, short, long, others }: HostEntry, { order, longOthers }: LineFormat): string {
  const domain = long.slice(short.length);
  const all = longOthers ? others.flatMap((name) => (name.includes('.') ? name : [name + domain, name])) : others;
  const rest = all.join(' ');
  const names = order === 'short' ? [short, long, rest] : order === 'long' ? [long, short, rest] : [rest, long, short];
  return `${ipText(ip)} ${names.join(' ').trimStart()}\n`;
}
