/** Sensor data records (IPMI 2.0 section 43) and the FRU image (FRU storage definition 1.0) of a simulated BMC. */

export interface AnalogSensor {
  readonly number: number;
  readonly name: string;
  readonly type: number;
  readonly entity: number;
  readonly instance: number;
  readonly unit: number;
  readonly factor: number;
  readonly exponent: number;
  /** Raw: nominal, normal maximum, normal minimum. */
  readonly usual: readonly [number, number, number];
  /** Raw, in the order of the record: upper non-recoverable, critical, non-critical, then lower ones in the same order. */
  readonly thresholds: readonly [number, number, number, number, number, number];
  readonly value: number;
}

export interface DiscreteSensor {
  readonly number: number;
  readonly name: string;
  readonly type: number;
  readonly entity: number;
  readonly instance: number;
  readonly states: number;
  readonly set: readonly number[];
}

const temperature = { type: 0x01, unit: 1, factor: 1, exponent: 0, instance: 1 } as const;
const fan = { type: 0x04, entity: 0x1d, unit: 18, factor: 60, exponent: 0 } as const;
const fanLimits = { usual: [120, 200, 30], thresholds: [250, 240, 230, 10, 15, 20] } as const;

/** Values differ by index so that a mix-up of BMCs shows. */
export const analogSensors = (index: number): AnalogSensor[] => [
  {
    ...temperature,
    number: 1,
    name: 'Inlet Temp',
    entity: 0x37,
    value: 20 + (index % 10),
    usual: [25, 40, 5],
    thresholds: [60, 50, 45, 0, 2, 5],
  },
  {
    ...temperature,
    number: 2,
    name: 'CPU1 Temp',
    entity: 0x03,
    value: 40 + (index % 20),
    usual: [50, 85, 10],
    thresholds: [105, 95, 90, 0, 2, 5],
  },
  {
    number: 3,
    name: '12V Rail',
    type: 0x02,
    entity: 0x07,
    instance: 1,
    unit: 4,
    factor: 6,
    exponent: -2,
    usual: [200, 215, 185],
    thresholds: [230, 225, 220, 170, 175, 180],
    value: 199 + (index % 4),
  },
  { ...fan, ...fanLimits, number: 4, name: 'Fan1', instance: 1, value: 100 + (index % 50) },
  { ...fan, ...fanLimits, number: 5, name: 'Fan2', instance: 2, value: 101 + (index % 50) },
  {
    number: 6,
    name: 'Sys Power',
    type: 0x0b,
    entity: 0x07,
    instance: 1,
    unit: 6,
    factor: 4,
    exponent: 0,
    usual: [60, 200, 2],
    thresholds: [250, 240, 230, 0, 0, 1],
    value: 40 + (index % 40),
  },
];

const supply = { type: 0x08, entity: 0x0a, states: 0x000b, set: [0] } as const;

export const discreteSensors: readonly DiscreteSensor[] = [
  { ...supply, number: 10, name: 'PSU1 Status', instance: 1 },
  { ...supply, number: 11, name: 'PSU2 Status', instance: 2 },
];

const text = (value: string): number[] => [0xc0 | value.length, ...Buffer.from(value, 'latin1')];
const record = (type: number, body: readonly number[]): number[] => [0, 0, 0x51, type, body.length, ...body];
const low = (value: number): number => value & 0xff;
const high = (value: number): number => (value >> 8) & 0xff;

export function fullRecord(sensor: AnalogSensor): number[] {
  const { number, entity, instance, type, unit, factor, exponent, usual, thresholds, name } = sensor;
  const body = [
    [0x20, 0x00, number, entity, instance, 0x7f, 0x68, type, 0x01],
    [0x95, 0x0a, 0x95, 0x0a, 0x3f, 0x3f],
    [0x00, unit, 0x00, 0x00],
    [low(factor), (high(factor) & 3) << 6, 0x00, 0x00, 0x00, (exponent & 0x0f) << 4],
    [0x07, ...usual, 0xff, 0x00, ...thresholds, 2, 2, 0, 0, 0],
    text(name),
  ];
  return record(0x01, body.flat());
}

export function compactRecord({ number, entity, instance, type, states, name }: DiscreteSensor): number[] {
  const mask = [low(states), high(states)];
  const body = [
    [0x20, 0x00, number, entity, instance, 0x67, 0x40, type, 0x6f],
    [...mask, ...mask, ...mask],
    [0xc0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    text(name),
  ];
  return record(0x02, body.flat());
}

export const fruLocator = (name: string): number[] =>
  record(0x11, [0x20, 0x00, 0x80, 0, 0, 0x10, 0, 0x07, 1, 0, ...text(name)]);

export const controllerLocator = (name: string): number[] =>
  record(0x12, [0x20, 0x00, 0, 0x9f, 0, 0, 0, 0x07, 1, 0, ...text(name)]);

const zeroSum = (bytes: readonly number[]): number => -bytes.reduce((sum, byte) => sum + byte, 0) & 0xff;

function area(head: readonly number[], fields: readonly string[]): number[] {
  const bytes = [...head, ...fields.flatMap(text), 0xc1];
  while ((bytes.length + 1) % 8 !== 0) bytes.push(0);
  bytes[1] = (bytes.length + 1) / 8;
  return [...bytes, zeroSum(bytes)];
}

export const serialNumber = (index: number): string => String(index).padStart(6, '0');

export function fruImage(index: number): Buffer {
  const serial = serialNumber(index);
  const chassis = area([1, 0, 0x17], ['LABCHAS-1', `CH${serial}`]);
  const boardFields = ['Lab Systems', 'LAB-MB-X1', `MB${serial}`, 'PN-100-200', 'fru1'];
  const board = area([1, 0, 0x19, 0x40, 0x5a, 0xd5], boardFields);
  const productFields = ['Lab Systems', 'LabServer 1000', '7X00LAB', 'A1', `SN${serial}`, `ASSET${serial}`, 'fru1'];
  const product = area([1, 0, 0x19], productFields);
  const boardAt = 1 + chassis.length / 8;
  const productAt = boardAt + board.length / 8;
  const head = [1, 0, 1, boardAt, productAt, 0, 0];
  const image = Buffer.alloc(512);
  Buffer.from([...head, zeroSum(head), ...chassis, ...board, ...product]).copy(image);
  return image;
}
