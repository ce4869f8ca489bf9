import type { RedfishService, Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { at, type Json, linkAt, linksAt, listAt, localPath, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { isThere, type Measure, measureOf, type ReadingKind } from './measures.ts';

/** One value that hardware measures. */
export interface Reading extends Measure {
  readonly name: string;
  readonly value: number | undefined;
  /** The path of the Sensor resource. */
  readonly sensor?: string | undefined;
  readonly id?: string | undefined;
  /** The path of what it belongs to. */
  readonly related?: string | undefined;
}

/** What one chassis shows. */
export interface ChassisReadings {
  readonly chassis: Resource;
  readonly readings: readonly Reading[];
}

interface Source {
  readonly chassis: Resource;
  /** Each resource is read once, however many kinds are in it. */
  readonly read: (path: string | undefined) => Promise<Resource | undefined>;
  readonly members: (path: string | undefined) => Promise<readonly Resource[]>;
}

type Reader = (source: Source) => Promise<readonly Reading[]>;

/**
 * The readings of some kinds. Those in Thermal and Power, and the Sensors, are all read: services show some in one place alone. What
 * the subsystems and metrics show are excerpts of Sensors (DSP2064): they are asked only for a kind that their chassis has none of,
 * and not if it has Sensors and these of the whole machine include that kind.
 */
export async function readingsOf(
  service: RedfishService,
  chassis: readonly Resource[],
  kinds: readonly ReadingKind[],
  signal: AbortSignal,
): Promise<readonly ChassisReadings[]> {
  const found: { source: Source; chassis: Resource; readings: Reading[] }[] = [];
  for (const one of chassis) {
    const source = sourceOf(service, one, signal);
    const readings: Reading[] = [];
    for (const kind of kinds) readings.push(...((await inLists[kind]?.(source)) ?? []));
    const sensors = kinds.length > 0 ? await sensorsIn(source) : [];
    found.push({
      source,
      chassis: one,
      readings: [...readings, ...sensors.filter(({ kind }) => kinds.includes(kind))],
    });
  }
  const has = (readings: readonly Reading[], kind: ReadingKind): boolean => readings.some((one) => one.kind === kind);
  const missing = kinds.filter((kind) => !found.some(({ readings }) => has(readings, kind)));
  for (const { source, readings } of found) {
    const asked = linkAt(source.chassis.body, 'Sensors') === undefined ? kinds : missing;
    for (const kind of asked.filter((one) => !has(readings, one)))
      readings.push(...((await excerpts[kind]?.(source)) ?? []));
  }
  return found;
}

function sourceOf(service: RedfishService, chassis: Resource, signal: AbortSignal): Source {
  const resources = new Map<string, Promise<Resource | undefined>>();
  const collections = new Map<string, Promise<readonly Resource[]>>();
  const once = <T>(known: Map<string, Promise<T>>, path: string, ask: () => Promise<T>): Promise<T> => {
    let answer = known.get(path);
    if (!answer) known.set(path, (answer = ask()));
    return answer;
  };
  return {
    chassis,
    read: async (path) => (path === undefined ? undefined : once(resources, path, () => service.find(path, signal))),
    members: async (path) =>
      path === undefined ? [] : once(collections, path, () => memberResources(service, path, signal, 'leaveOut')),
  };
}

const nameMembers = ['Name', 'FanName', 'DeviceName', 'PhysicalContext', 'Id', 'MemberId'];

function nameOf(item: Json, fallback: string): string {
  for (const member of nameMembers) {
    const found = textAt(item, member);
    // A number is its place in the list, which says nothing.
    if (found !== undefined && !/^\d+$/.test(found)) return found;
  }
  return fallback;
}

/** Those that are there of a list of a resource that the chassis names. */
async function itemsOf({ chassis, read }: Source, resource: string, list: string): Promise<readonly Json[]> {
  const found = await read(linkAt(chassis.body, resource));
  return listAt(found?.body, list).filter(isThere);
}

const wattName = (name: string): string => (/power|watt/i.test(name) ? name : `${name} Power`);

const watts = (name: string, value: number | undefined): Reading => ({
  kind: 'wattage',
  unit: 'W',
  name: wattName(name),
  value,
});

/** Thermal and Power, as services had them until 2020. */
const inLists: Readonly<Partial<Record<ReadingKind, Reader>>> = {
  temp: async (source) =>
    (await itemsOf(source, 'Thermal', 'Temperatures')).map((item) => ({
      kind: 'temp',
      unit: 'Cel',
      name: nameOf(item, 'Temperature'),
      value: numberAt(item, 'ReadingCelsius'),
    })),
  voltage: async (source) =>
    (await itemsOf(source, 'Power', 'Voltages')).map((item) => ({
      kind: 'voltage',
      unit: 'V',
      name: nameOf(item, 'Voltage'),
      value: numberAt(item, 'ReadingVolts'),
    })),
  async wattage(source) {
    const controls = (await itemsOf(source, 'Power', 'PowerControl')).map((item) =>
      watts(nameOf(item, 'System'), numberAt(item, 'PowerConsumedWatts')),
    );
    const supplies = (await itemsOf(source, 'Power', 'PowerSupplies')).map((item) =>
      watts(nameOf(item, 'Power Supply'), numberAt(item, 'PowerOutputWatts') ?? numberAt(item, 'LastPowerOutputWatts')),
    );
    return [...controls, ...supplies].filter(({ value }) => value !== undefined);
  },
  fanspeed: async (source) =>
    (await itemsOf(source, 'Thermal', 'Fans')).map((item) => ({
      kind: 'fanspeed',
      unit: textAt(item, 'ReadingUnits') === 'Percent' ? '%' : 'RPM',
      name: nameOf(item, 'Fan'),
      value: numberAt(item, 'Reading'),
    })),
};

async function sensorsIn({ chassis, members }: Source): Promise<readonly Reading[]> {
  const sensors = await members(linkAt(chassis.body, 'Sensors'));
  return sensors.flatMap(({ path, body }): readonly Reading[] => {
    const measure = isThere(body) ? measureOf(body) : undefined;
    if (!measure) return [];
    const value = numberAt(body, 'Reading');
    const [related] = linksAt(body, 'RelatedItem');
    return [{ ...measure, name: nameOf(body, measure.kind), value, sensor: path, id: textAt(body, 'Id'), related }];
  });
}

/** An excerpt of a Sensor (DSP0266 "Excerpt"), of which some are only numbers beside others. */
function excerpt(measure: Measure, name: string, item: Json, member = 'Reading'): readonly Reading[] {
  const value = numberAt(item, member);
  return value === undefined ? [] : [{ ...measure, name, value, sensor: localPath(at(item, 'DataSourceUri')) }];
}

/** The power supplies of the newer subsystem with their metrics. */
async function suppliesOf({ chassis, read, members }: Source): Promise<readonly { name: string; metrics: Json }[]> {
  const subsystem = await read(linkAt(chassis.body, 'PowerSubsystem'));
  const supplies = await members(linkAt(subsystem?.body, 'PowerSupplies'));
  const found: { name: string; metrics: Json }[] = [];
  for (const { body } of supplies) {
    const metrics = await read(linkAt(body, 'Metrics'));
    found.push({ name: nameOf(body, 'Power Supply'), metrics: metrics?.body });
  }
  return found;
}

/** What supplies take in, of a chassis that shows it nowhere else. */
const supplyInput =
  (measure: Measure, member: string, label: string): Reader =>
  async (source) => {
    const { body } = source.chassis;
    if (linkAt(body, 'Sensors') !== undefined || linkAt(body, 'Power') !== undefined) return [];
    const supplies = await suppliesOf(source);
    return supplies.flatMap(({ name, metrics }) => excerpt(measure, `${name} ${label}`, at(metrics, member)));
  };

const excerpts: Readonly<Partial<Record<ReadingKind, Reader>>> = {
  async temp({ chassis, read }) {
    const subsystem = await read(linkAt(chassis.body, 'ThermalSubsystem'));
    const metrics = await read(linkAt(subsystem?.body, 'ThermalMetrics'));
    return listAt(metrics?.body, 'TemperatureReadingsCelsius').map((item) => {
      const sensor = localPath(at(item, 'DataSourceUri'));
      const id = sensor?.split('/').at(-1);
      const name = nameOf(item, id ?? 'Temperature');
      return { kind: 'temp', unit: 'Cel', name, value: numberAt(item, 'Reading'), sensor, id };
    });
  },
  voltage: supplyInput({ kind: 'voltage', unit: 'V' }, 'InputVoltage', 'Input Voltage'),
  current: supplyInput({ kind: 'current', unit: 'A' }, 'InputCurrentAmps', 'Input Current'),
  async wattage(source) {
    const { chassis, read } = source;
    const environment = await read(linkAt(chassis.body, 'EnvironmentMetrics'));
    const total = at(environment?.body, 'PowerWatts');
    const measure = { kind: 'wattage', unit: 'W' } as const;
    const supplies = (await suppliesOf(source)).flatMap(({ name, metrics }) => {
      const output = excerpt(measure, wattName(name), at(metrics, 'OutputPowerWatts'));
      return output.length > 0 ? output : excerpt(measure, wattName(name), at(metrics, 'InputPowerWatts'));
    });
    return [...excerpt(measure, wattName(nameOf(chassis.body, 'System')), total), ...supplies];
  },
  async fanspeed({ chassis, read, members }) {
    const subsystem = await read(linkAt(chassis.body, 'ThermalSubsystem'));
    const fans = await members(linkAt(subsystem?.body, 'Fans'));
    return fans
      .filter(({ body }) => isThere(body))
      .map(({ body }): Reading => {
        const speed = numberAt(body, 'SpeedPercent', 'SpeedRPM');
        const value = speed ?? numberAt(body, 'SpeedPercent', 'Reading');
        const unit = speed === undefined ? '%' : 'RPM';
        const sensor = localPath(at(body, 'SpeedPercent', 'DataSourceUri'));
        return { kind: 'fanspeed', unit, name: nameOf(body, 'Fan'), value, sensor, id: textAt(body, 'Id') };
      });
  },
  async energy({ chassis, read }) {
    const environment = await read(linkAt(chassis.body, 'EnvironmentMetrics'));
    const used = excerpt({ kind: 'energy', unit: 'kW.h' }, 'Energy', at(environment?.body, 'EnergykWh'));
    if (used.length > 0) return used;
    return excerpt({ kind: 'energy', unit: 'J' }, 'Energy', at(environment?.body, 'EnergyJoules'));
  },
};
