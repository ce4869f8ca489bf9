import type { IpmiLink } from '../link.ts';
import { completion, refusal, send } from './ask.ts';
import { byteAt } from './bytes.ts';
import { type Conversion, decodeFactors, type SensorRecord, thresholdEvents } from './sdr-record.ts';
import { convert, firstNonLinear } from './units.ts';

/** IPMI 2.0 section 35: sensor device commands. */
const sensorEvent = 0x04;
const commands = { getReadingFactors: 0x23, getReading: 0x2d };
/** IPMI 2.0 5.4: the service processor itself; any other owner is behind it. */
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
  /** Controllers behind the service processor that did not answer: not waited for once per sensor. */
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

  /** Of sensors that are not linear each reading has factors of its own; undefined where they are not told. */
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
