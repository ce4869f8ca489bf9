import { Fault } from './errors.ts';

const day = 86_400_000;
const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: day };

/** The time that a parameter `since` means, in milliseconds: `90m`, or a time with its zone. */
export function sinceTime(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return Date.now() - Number(count) * units[unit!]!;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new Fault(
      'invalid',
      `since: "${text}" is not a time: give one with its zone, such as 2026-11-15T09:05:00Z, or how long ago: 30s, 90m, 2h, 1d.`,
    );
  return time;
}
