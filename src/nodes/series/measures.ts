import type { Labelled } from '../../drivers/index.ts';

/** What series are kept of; kinds of vitals. */
export const seriesKinds = ['temp', 'wattage', 'fanspeed'] as const;
export type SeriesKind = (typeof seriesKinds)[number];

/** One value of one sensor. */
export interface Measure {
  readonly label: string;
  readonly kind: SeriesKind;
  readonly unit: string;
  readonly value: number;
  /** Beyond which limit the BMC says that it is, as `Upper Critical`; undefined: beyond none. */
  readonly state: string | undefined;
}

const longestLabel = 80;
const longestState = 40;

/** The number, its unit, the same in another unit, and a limit: `93 C (199 F), Upper Non-critical`. */
const form = /^(-?\d{1,9}(?:\.\d{1,6})?) (C|F|Watts|RPM|%)(?: \([^()]{1,40}\))?(?:, ([^,]+))?$/;

/** The values among readings, as every kind of hardware shows them. What has no value, or is something else, is left out. */
export function measuresIn(readings: Labelled): Measure[] {
  return Object.entries(readings).flatMap(([label, text]): Measure | [] => {
    const [, number, unit, state] = typeof text === 'string' ? (form.exec(text) ?? []) : [];
    const kind = kindOf(label, unit);
    if (kind === undefined) return [];
    const given = Number(number);
    const isFahrenheit = unit === 'F';
    return {
      label: shortened(label, longestLabel),
      kind,
      unit: isFahrenheit ? 'C' : unit!,
      value: isFahrenheit ? ((given - 32) * 5) / 9 : given,
      state: state === undefined ? undefined : shortened(state, longestState),
    };
  });
}

/** A text of its own: a part of a text keeps all of it in memory, and a BMC may send very long ones. */
const shortened = (text: string, longest: number): string =>
  Buffer.from(text.slice(0, longest), 'utf16le').toString('utf16le');

/** Per cent are of anything; only the name says that it is a fan. */
function kindOf(label: string, unit: string | undefined): SeriesKind | undefined {
  if (unit === 'C' || unit === 'F') return 'temp';
  if (unit === 'Watts') return 'wattage';
  if (unit === 'RPM' || (unit === '%' && /fan|pwm/i.test(label))) return 'fanspeed';
  return undefined;
}
