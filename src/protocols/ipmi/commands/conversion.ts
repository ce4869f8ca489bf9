import { signed } from './bytes.ts';
import type { Conversion } from './sdr-record.ts';

/** IPMI 2.0 section 36.3: y = L[(M x + B 10^K1) 10^K2]. */
const linearizations: readonly ((value: number) => number)[] = [
  (value) => value,
  Math.log,
  Math.log10,
  Math.log2,
  Math.exp,
  (value) => 10 ** value,
  (value) => 2 ** value,
  (value) => 1 / value,
  (value) => value ** 2,
  (value) => value ** 3,
  Math.sqrt,
  Math.cbrt,
];

/** From this linearization on the factors differ from reading to reading. */
export const firstNonLinear = 0x70;

function rawValue(raw: number, format: Conversion['format']): number {
  if (format === 'twos') return signed(raw, 8);
  if (format === 'ones') return raw & 0x80 ? -(~raw & 0xff) : raw;
  return raw;
}

/** Undefined where the formula has no value, as the logarithm of zero. */
export function convert(raw: number, conversion: Conversion): number | undefined {
  const { m, b, bExponent, resultExponent, linearization } = conversion;
  const linear = (m * rawValue(raw, conversion.format) + b * 10 ** bExponent) * 10 ** resultExponent;
  const value = (linearizations[linearization] ?? ((same: number) => same))(linear);
  return Number.isFinite(value) ? value : undefined;
}
