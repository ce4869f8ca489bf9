import type { IpmiLink } from '../link.ts';
import { completion, refusal, send } from './ask.ts';
import { byteAt, signed } from './bytes.ts';
import { type Conversion, decodeFactors, type SensorRecord, type SensorUnits, thresholdEvents } from './sdr-record.ts';

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

export const unitCodes = { fahrenheit: 2, amps: 5, watts: 6, joules: 7 };

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
const firstNonLinear = 0x70;

function rawValue(raw: number, format: Conversion['format']): number {
  if (format === 'twos') return signed(raw, 8);
  if (format === 'ones') return raw & 0x80 ? -(~raw & 0xff) : raw;
  return raw;
}

/** What a threshold of the record is in the unit of the sensor; undefined where only the BMC can say it. */
export const thresholdValue = (raw: number, conversion: Conversion): number | undefined =>
  conversion.linearization < firstNonLinear ? convert(raw, conversion) : undefined;

/** Undefined where the formula has no value, as the logarithm of zero. */
export function convert(raw: number, conversion: Conversion): number | undefined {
  const { m, b, bExponent, resultExponent, linearization } = conversion;
  const linear = (m * rawValue(raw, conversion.format) + b * 10 ** bExponent) * 10 ** resultExponent;
  const value = (linearizations[linearization] ?? ((same: number) => same))(linear);
  return Number.isFinite(value) ? value : undefined;
}

/** IPMI 2.0 section 35: sensor device commands. */
const sensorEvent = 0x04;
const commands = { getReadingFactors: 0x23, getReading: 0x2d };
/** IPMI 2.0 5.4: the BMC itself; any other owner is behind it. */
const ownController = 0x20;
/** Table 35-15: beyond which limits a reading is. */
const limitBits = 0x3f;
/** The lowest bit of an owner says that it is software, which nobody can ask. */
const softwareOwner = 0x01;

export interface SensorReading {
  readonly raw: number;
  /** The asserted states, one bit each. */
  readonly states: number;
}

/** Undefined if there is no reading now. */
export function decodeReading(data: Buffer): SensorReading | undefined {
  if (data.length < 2) return undefined;
  const flags = byteAt(data, 1);
  const scanning = (flags & 0x40) !== 0;
  const unavailable = (flags & 0x20) !== 0;
  if (!scanning || unavailable) return undefined;
  return { raw: byteAt(data, 0), states: byteAt(data, 2) | ((byteAt(data, 3) & 0x7f) << 8) };
}

/** A value in the sensor's unit, and beyond which of its limits that is. */
export interface SensorValue {
  readonly value: number;
  readonly limits: number;
}

/** The sensors of one machine, read one after another. */
export class Sensors {
  readonly #link: IpmiLink;
  /** Controllers behind the BMC that did not answer: not waited for once per sensor. */
  readonly #absent = new Set<number>();

  constructor(link: IpmiLink) {
    this.#link = link;
  }

  async reading(sensor: SensorRecord, signal: AbortSignal): Promise<SensorReading | undefined> {
    if (!sensor.readable || (sensor.owner & softwareOwner) !== 0) return undefined;
    const data = await this.#ask(sensor, commands.getReading, Buffer.of(sensor.number), signal);
    return data && decodeReading(data);
  }

  /** Undefined without a reading or for a sensor that has only states. */
  async value(sensor: SensorRecord, signal: AbortSignal): Promise<SensorValue | undefined> {
    if (sensor.conversion === undefined) return undefined;
    const reading = await this.reading(sensor, signal);
    if (reading === undefined) return undefined;
    const conversion = await this.#conversion(sensor, sensor.conversion, reading.raw, signal);
    const value = conversion && convert(reading.raw, conversion);
    const limits = sensor.eventType === thresholdEvents ? reading.states & limitBits : 0;
    return value === undefined ? undefined : { value, limits };
  }

  /** Of sensors that are not linear each reading has factors of its own; undefined where they are not reported. */
  async #conversion(
    sensor: SensorRecord,
    conversion: Conversion,
    raw: number,
    signal: AbortSignal,
  ): Promise<Conversion | undefined> {
    if (conversion.linearization < firstNonLinear) return conversion;
    const answer = await this.#ask(sensor, commands.getReadingFactors, Buffer.of(sensor.number, raw), signal);
    if (answer === undefined || answer.length < 7) return undefined;
    return { ...conversion, ...decodeFactors(answer.subarray(1)), linearization: 0 };
  }

  /** A sensor that refuses says nothing about the others, unless the account may read none. */
  async #ask(
    { name, owner, channel, lun }: SensorRecord,
    command: number,
    data: Buffer,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    if (this.#absent.has(owner)) return undefined;
    const request = { netfn: sensorEvent, command, data, lun };
    const bridged = owner === ownController ? request : { ...request, bridge: { address: owner, channel } };
    const { code, data: answer } = await send(this.#link, bridged, signal);
    if (code === completion.lacksPrivilege) throw refusal(`to read the sensor "${name}"`, code);
    if (code === completion.unavailable && owner !== ownController) this.#absent.add(owner);
    return code === completion.ok ? answer : undefined;
  }
}
