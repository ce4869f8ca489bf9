import { analogSensors, controllerLocator, fruImage, fruLocator, fullRecord } from '../bmc/records.ts';
import { suites } from './session.ts';
import type { LightBmc } from './bmc.ts';

export interface CommandReply {
  readonly code: number;
  readonly data: readonly number[] | Uint8Array;
}

/** Completion codes, IPMI 2.0 table 5-2. */
const codes = {
  unknown: 0xc1,
  tooShort: 0xc7,
  outOfRange: 0xc9,
  notPresent: 0xcb,
  invalid: 0xcc,
  privilege: 0xd4,
  state: 0xd5,
} as const;

const levels = { callback: 1, user: 2, operator: 3, administrator: 4 } as const;

interface Command {
  /** What a session needs; 0: no session. */
  readonly level: number;
  readonly least: number;
  readonly run: (bmc: LightBmc, data: Buffer) => CommandReply;
}

const ok = (...data: readonly number[]): CommandReply => ({ code: 0, data });
const failed = (code: number): CommandReply => ({ code, data: [] });
const low = (value: number): number => value & 0xff;
const high = (value: number): number => (value >> 8) & 0xff;

const manufacturer = [0x4d, 0x4f, 0x00] as const;

/** Records of one index, made when first asked for; they differ by a few values only. */
function repositoryOf(bmc: LightBmc): readonly Buffer[] {
  bmc.repository ??= [
    ...analogSensors(bmc.index).map(fullRecord),
    controllerLocator('LightBMC'),
    fruLocator('Builtin FRU'),
  ].map((bytes, place) => {
    const record = Buffer.from(bytes);
    record.writeUInt16LE(place + 1, 0);
    return record;
  });
  return bmc.repository;
}

function getRecord(bmc: LightBmc, data: Buffer): CommandReply {
  const records = repositoryOf(bmc);
  const wanted = data.readUInt16LE(2);
  const place = wanted === 0 ? 0 : wanted === 0xffff ? records.length - 1 : wanted - 1;
  const record = records[place];
  if (!record) return failed(codes.notPresent);
  const offset = data[4]!;
  const length = data[5] === 0xff ? record.length - offset : data[5]!;
  if (offset + length > record.length || length > 64) return failed(0xca);
  const next = place + 2 > records.length ? 0xffff : place + 2;
  return ok(low(next), high(next), ...record.subarray(offset, offset + length));
}

function readFru({ index }: LightBmc, data: Buffer): CommandReply {
  if (data[0] !== 0) return failed(codes.notPresent);
  const image = fruImage(index);
  const offset = data.readUInt16LE(1);
  if (offset >= image.length) return failed(codes.outOfRange);
  const bytes = image.subarray(offset, offset + Math.min(data[3]!, 64));
  return ok(bytes.length, ...bytes);
}

function readSensor(bmc: LightBmc, data: Buffer): CommandReply {
  const sensor = analogSensors(bmc.index).find(({ number }) => number === data[0]);
  return sensor ? ok(sensor.value, 0xc0, 0xc0) : failed(codes.notPresent);
}

/** A start uses up boot flags that are not persistent. */
function start(bmc: LightBmc): void {
  bmc.power = true;
  const flags = bmc.boot.get(5);
  if (flags && (flags[0]! & 0xc0) === 0x80) bmc.boot.delete(5);
}

function control(bmc: LightBmc, data: Buffer): CommandReply {
  const action = data[0]! & 0x0f;
  if (action > 5) return failed(codes.invalid);
  if (action === 0 || action === 5) bmc.power = false;
  else if (action === 1) {
    if (!bmc.power) start(bmc);
  } else if (!bmc.power) return failed(codes.state);
  else if (action !== 4) start(bmc);
  bmc.controls.push(action);
  return ok();
}

const bootLengths = [1, 1, 1, 1, 2, 5, 1, 16] as const;

function setBoot(bmc: LightBmc, data: Buffer): CommandReply {
  const parameter = data[0]! & 0x7f;
  if (bootLengths[parameter] === undefined) return failed(0x80);
  bmc.boot.set(parameter, Buffer.from(data.subarray(1)));
  return ok();
}

function getBoot(bmc: LightBmc, data: Buffer): CommandReply {
  const parameter = data[0]! & 0x7f;
  const length = bootLengths[parameter];
  if (length === undefined) return failed(0x80);
  const value = Buffer.alloc(length);
  bmc.boot.get(parameter)?.copy(value);
  return ok(1, parameter, ...value);
}

/** Elements of Get Channel Cipher Suites, 16 bytes for each list index. */
function getSuites(data: Buffer): CommandReply {
  const records = suites.flatMap(({ id, authentication, integrity, confidentiality }) => [
    0xc0,
    id,
    authentication,
    0x40 | integrity,
    0x80 | confidentiality,
  ]);
  const first = (data[2]! & 0x3f) * 16;
  return ok(1, ...records.slice(first, first + 16));
}

function getLan(bmc: LightBmc, data: Buffer): CommandReply {
  const values: Readonly<Record<number, readonly number[]>> = {
    0: [0],
    3: bmc.address.split('.').map(Number),
    4: [1],
    5: [0x02, 0xbd, 0x00, 0x00, high(bmc.index), low(bmc.index)],
    6: [255, 0, 0, 0],
    12: [0, 0, 0, 0],
  };
  const value = values[data[1]!];
  return value ? ok(0x11, ...value) : failed(0x80);
}

const emptyLog = [0x51, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x02] as const;
const now = (): number[] => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(Math.floor(Date.now() / 1000));
  return [...bytes];
};

/** By network function and command. */
const commands: Readonly<Record<number, Command>> = {
  0x0000: { level: levels.user, least: 0, run: () => ok(0, 0x20, 0x20, 0x20, 0x20) },
  0x0001: { level: levels.user, least: 0, run: ({ power, identify }) => ok(power ? 1 : 0, 0, 0x40 | (identify << 4)) },
  0x0002: { level: levels.operator, least: 1, run: control },
  0x0004: {
    level: levels.operator,
    least: 0,
    run: (bmc, data) => {
      bmc.identify = data[1]! & 1 ? 2 : data[0] === 0 ? 0 : 1;
      return ok();
    },
  },
  0x0008: { level: levels.operator, least: 1, run: setBoot },
  0x0009: { level: levels.operator, least: 3, run: getBoot },
  0x042d: { level: levels.user, least: 1, run: readSensor },
  0x0601: {
    level: levels.user,
    least: 0,
    run: () => ok(0x20, 0x01, 0x02, 0x15, 0x02, 0x8b, ...manufacturer, 0x02, 0x01),
  },
  0x0604: { level: levels.user, least: 0, run: () => ok(0x55, 0x00) },
  0x0637: { level: 0, least: 0, run: ({ guid }) => ok(...guid) },
  0x0638: {
    level: 0,
    least: 2,
    // Channel 1 speaks RMCP+ only; names are needed, none of them empty.
    run: () => ok(0x01, 0x80, 0x04, 0x02, ...manufacturer, 0x00),
  },
  0x0642: { level: levels.user, least: 1, run: () => ok(0x01, 0x04, 0x01, 0x80, 0xf2, 0x1b, 0x00, 0x00, 0x00) },
  0x0654: { level: 0, least: 3, run: (_, data) => getSuites(data) },
  0x0a10: { level: levels.user, least: 1, run: () => ok(0x00, 0x02, 0x00) },
  0x0a11: { level: levels.user, least: 4, run: readFru },
  0x0a20: {
    level: levels.user,
    least: 0,
    run: (bmc) => ok(0x51, repositoryOf(bmc).length, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x22),
  },
  0x0a22: { level: levels.user, least: 0, run: () => ok(0x01, 0x00) },
  0x0a23: { level: levels.user, least: 6, run: getRecord },
  0x0a40: { level: levels.user, least: 0, run: () => ok(...emptyLog) },
  0x0a42: { level: levels.user, least: 0, run: () => ok(0x01, 0x00) },
  0x0a43: { level: levels.user, least: 6, run: () => failed(codes.notPresent) },
  0x0a47: { level: levels.operator, least: 6, run: () => ok(0x01) },
  0x0a48: { level: levels.user, least: 0, run: () => ok(...now()) },
  0x0c02: { level: levels.operator, least: 4, run: getLan },
};

export function runCommand(bmc: LightBmc, netfn: number, command: number, data: Buffer, level: number): CommandReply {
  const found = commands[(netfn << 8) | command];
  if (!found) return failed(codes.unknown);
  if (level < found.level) return failed(codes.privilege);
  if (data.length < found.least) return failed(codes.tooShort);
  return found.run(bmc, data);
}
