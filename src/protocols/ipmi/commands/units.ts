import { signed } from './bytes.ts';
import type { Conversion, SensorUnits } from './sdr-record.ts';

/** IPMI 2.0 table 43-15, in the words of the reference system where it prints them. */
const unitNames: readonly string[] = `
unspecified,C,F,K,Volts,Amps,Watts,Joules,Coulombs,VA,Nits,lumen,lux,Candela,kPa,PSI,Newton,CFM,RPM,Hz,
microsecond,millisecond,second,minute,hour,day,week,mil,inches,feet,cu in,cu feet,mm,cm,m,cu cm,cu m,liters,
fluid ounce,radians,steradians,revolutions,cycles,gravities,ounce,pound,ft-lb,oz-in,gauss,gilberts,henry,
millihenry,farad,microfarad,ohms,siemens,mole,becquerel,PPM,reserved,Decibels,DbA,DbC,gray,sievert,
color temp deg K,bit,kilobit,megabit,gigabit,byte,kilobyte,megabyte,gigabyte,word,dword,qword,line,hit,miss,
retry,reset,overflow,underrun,collision,packets,messages,characters,error,correctable error,
uncorrectable error,fatal error,grams`
  .replaceAll('\n', '')
  .split(',');

const rates = ['', ' per us', ' per ms', ' per s', ' per minute', ' per hour', ' per day', ''];

export const unitCodes = { watts: 6, joules: 7 };

export function unitText(units: SensorUnits): string {
  if (units.percent) return '%';
  const base = units.base === 0 ? '' : (unitNames[units.base] ?? `unit ${units.base}`);
  const modifier = unitNames[units.modifier] ?? `unit ${units.modifier}`;
  const related =
    units.relation === 'per' ? `${base}/${modifier}` : units.relation === 'times' ? `${base}*${modifier}` : base;
  return related + (rates[units.rate] ?? '');
}

const btuPerHour = 3.413;

function number(value: number): string {
  return String(Number(value.toFixed(3)));
}

/** `20 C (68 F)`, `6000 RPM`, `11.94 Volts`, `160 Watts (546 BTUs/hr)`. */
export function valueText(value: number, units: SensorUnits): string {
  const unit = unitText(units);
  const text = unit === '' ? number(value) : `${number(value)} ${unit}`;
  if (unit === 'C') return `${text} (${Math.round((value * 9) / 5 + 32)} F)`;
  if (unit === 'F') return `${text} (${Math.round(((value - 32) * 5) / 9)} C)`;
  if (unit === 'Watts') return `${text} (${Math.round(value * btuPerHour)} BTUs/hr)`;
  return text;
}

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
