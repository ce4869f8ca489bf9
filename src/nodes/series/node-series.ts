import type { SensorLimits } from '../../drivers/index.ts';
import type { Measure, SeriesKind } from './measures.ts';

const minute = 60_000;
/** The last hour by the minute, and a day by ten minutes. */
const minutes = { step: minute, count: 60, at: 0 };
const tens = { step: 10 * minute, count: 144, at: minutes.count };
/** How many readings the last ten minutes have. */
const readingsAt = tens.at + tens.count;
const width = readingsAt + 1;

export const kept = tens.step * tens.count;
/** What a sensor takes in memory, in bytes: its numbers, its name and what goes with them. */
export const bytesOfSensor = 1_000;
/** More are not kept of a node. */
export const mostSensors = 64;

/** What is known of a sensor, and where its numbers begin. */
interface Sensor extends Measure {
  readonly time: number;
  readonly limits: SensorLimits | undefined;
}

export interface ShownSensor {
  readonly kind: SeriesKind;
  readonly unit: string;
  readonly value: number;
  readonly time: string;
  readonly state?: string;
  readonly limits?: SensorLimits;
  readonly values?: readonly (number | null)[];
}

export interface ShownSeries {
  readonly time?: string;
  /** Why it could not be read the last time. */
  readonly problem?: string;
  readonly times?: readonly string[];
  readonly sensors: Readonly<Record<string, ShownSensor>>;
}

export interface Span {
  readonly since: number;
  readonly now: number;
}

/** The sensors of one node over a day: a list of them, and one array with the numbers of all. */
export class NodeSeries {
  #sensors: Sensor[] = [];
  #numbers = new Float32Array(0);
  #minute = -1;
  #ten = -1;
  #time = 0;

  /** When something was recorded, in milliseconds. */
  get time(): number {
    return this.#time;
  }

  get size(): number {
    return this.#sensors.length;
  }

  /** How many of them are of sensors that are not known yet, and would be kept. */
  newIn(measures: readonly Measure[]): number {
    const known = new Set(this.#sensors.map(({ label }) => label));
    const added = new Set(measures.flatMap(({ label }) => (known.has(label) ? [] : label)));
    return Math.min(added.size, mostSensors - this.size);
  }

  /** `mayGrow`: sensors that are not known yet are kept too. */
  record(measures: readonly Measure[], now: number, mayGrow: boolean): void {
    this.#moveTo(now);
    this.#time = now;
    for (const measure of measures) {
      let index = this.#sensors.findIndex(({ label }) => label === measure.label);
      if (index < 0) {
        if (!mayGrow || this.size >= mostSensors) continue;
        index = this.#add();
      }
      this.#sensors[index] = { ...measure, time: now, limits: this.#sensors[index]?.limits };
      const from = index * width;
      const numbers = this.#numbers;
      numbers[from + minutes.at + (this.#minute % minutes.count)] = measure.value;
      // The mean of those there are.
      const ten = from + tens.at + (this.#ten % tens.count);
      const readings = numbers[from + readingsAt]! + 1;
      const before = readings === 1 ? measure.value : numbers[ten]!;
      numbers[ten] = before + (measure.value - before) / readings;
      numbers[from + readingsAt] = readings;
    }
  }

  /** The limits of sensors, by their labels. */
  limit(limits: Readonly<Record<string, SensorLimits>>): void {
    this.#sensors = this.#sensors.map((sensor) => ({
      ...sensor,
      limits: Object.hasOwn(limits, sensor.label) ? limits[sensor.label] : undefined,
    }));
  }

  /** What is known; `points`: with what was measured since then. */
  shown(isShown: (sensor: Measure) => boolean, points: Span | undefined): ShownSeries {
    const slots = points ? this.#slots(points) : [];
    const sensors: [string, ShownSensor][] = [];
    for (const [index, sensor] of this.#sensors.entries()) {
      if (!isShown(sensor)) continue;
      const { label, kind, unit, value, state, limits, time } = sensor;
      const shown = {
        kind,
        unit,
        value: rounded(value),
        time: textOf(time),
        ...(state === undefined ? {} : { state }),
        ...(limits === undefined ? {} : { limits }),
      };
      const values = slots.map(({ at }) => {
        const number = this.#numbers[index * width + at]!;
        return Number.isNaN(number) ? null : rounded(number);
      });
      sensors.push([label, points ? { ...shown, values } : shown]);
    }
    return {
      ...(this.#time === 0 ? {} : { time: textOf(this.#time) }),
      ...(points ? { times: slots.map(({ time }) => textOf(time)) } : {}),
      sensors: Object.fromEntries(sensors),
    };
  }

  /** The hottest of those temperatures that are not older than that. */
  hottest(since: number): string | undefined {
    let found: Sensor | undefined;
    for (const sensor of this.#sensors)
      if (sensor.kind === 'temp' && sensor.time >= since && (!found || sensor.value > found.value)) found = sensor;
    return found?.label;
  }

  /** Ten minutes each until an hour ago, and minutes from then on; those in which nothing was measured are left out. */
  #slots({ since, now }: Span): { readonly time: number; readonly at: number }[] {
    const firstMinute = Math.max(this.#minute - minutes.count + 1, Math.floor(now / minutes.step) - minutes.count + 1);
    const firstTen = Math.max(this.#ten - tens.count + 1, Math.floor(now / tens.step) - tens.count + 1);
    const slots: { readonly time: number; readonly at: number }[] = [];
    for (let ten = firstTen; ten <= this.#ten && ten * tens.step + tens.step <= firstMinute * minutes.step; ten++)
      slots.push({ time: ten * tens.step, at: tens.at + (ten % tens.count) });
    for (let at = firstMinute; at <= this.#minute; at++)
      slots.push({ time: at * minutes.step, at: minutes.at + (at % minutes.count) });
    return slots.filter(({ time, at }) => time + minutes.step > since && this.#hasAt(at));
  }

  #hasAt(at: number): boolean {
    return this.#sensors.some((_, index) => !Number.isNaN(this.#numbers[index * width + at]!));
  }

  #add(): number {
    const numbers = new Float32Array((this.size + 1) * width).fill(Number.NaN);
    numbers.set(this.#numbers);
    numbers[this.size * width + readingsAt] = 0;
    this.#numbers = numbers;
    return this.size;
  }

  /** Nothing was measured in the time that has passed. If the clock was set back, nothing that was known is left. */
  #moveTo(now: number): void {
    const [toMinute, toTen] = [Math.floor(now / minutes.step), Math.floor(now / tens.step)];
    const isBack = toMinute < this.#minute;
    this.#clear(minutes, isBack ? -1 : this.#minute, toMinute);
    this.#clear(tens, isBack ? -1 : this.#ten, toTen);
    if (toTen !== this.#ten)
      for (let index = 0; index < this.size; index++) this.#numbers[index * width + readingsAt] = 0;
    this.#minute = toMinute;
    this.#ten = toTen;
  }

  #clear({ count, at }: typeof tens, from: number, to: number): void {
    for (let slot = Math.max(from + 1, to - count + 1); slot <= to; slot++)
      for (let index = 0; index < this.size; index++) this.#numbers[index * width + at + (slot % count)] = Number.NaN;
  }
}

const textOf = (time: number): string => new Date(time).toISOString();
const rounded = (value: number): number => Number(value.toFixed(1));
