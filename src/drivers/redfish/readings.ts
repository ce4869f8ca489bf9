import type { RedfishService, Resource } from '../../protocols/redfish/client.ts';
import type { Json } from '../../protocols/redfish/json.ts';
import { linkAt, listAt, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import type { Line } from './labels.ts';

const btuPerWattHour = 3.412;

const plain = (value: number): string => String(Number(value.toFixed(3)));

/** As the reference system prints it; a sensor that gives no value is `N/A`. */
const inUnit =
  (format: (value: number) => string) =>
  (value: number | undefined): string =>
    value === undefined ? 'N/A' : format(value);

const celsius = inUnit((value) => `${plain(value)} C (${Math.round((value * 9) / 5 + 32)} F)`);
const volts = inUnit((value) => `${plain(value)} Volts`);
const watts = inUnit((value) => `${plain(value)} Watts (${Math.round(value * btuPerWattHour)} BTUs/hr)`);
const kilowattHours = inUnit((value) => `${plain(value)} kWh`);
const metres = inUnit((value) => `${plain(value)} m`);
const rpm = inUnit((value) => `${plain(value)} RPM`);
const percent = inUnit((value) => `${plain(value)} %`);

/** As the reference system orders them. */
export const readingKinds = ['temp', 'voltage', 'wattage', 'fanspeed', 'energy', 'altitude'] as const;
export type ReadingKind = (typeof readingKinds)[number];

interface Source {
  readonly service: RedfishService;
  readonly chassis: Resource;
  readonly signal: AbortSignal;
  /** Each resource is read once, however many kinds are in it. */
  readonly read: (path: string | undefined) => Promise<Resource | undefined>;
  readonly sensors: () => Promise<readonly Resource[]>;
}

type Reader = (source: Source) => Promise<readonly Line[]>;

export async function chassisReadings(
  service: RedfishService,
  chassis: Resource,
  kinds: readonly ReadingKind[],
  signal: AbortSignal,
): Promise<readonly Line[]> {
  const resources = new Map<string, Promise<Resource | undefined>>();
  let sensors: Promise<readonly Resource[]> | undefined;
  const source: Source = {
    service,
    chassis,
    signal,
    read(path) {
      if (path === undefined) return Promise.resolve(undefined);
      let resource = resources.get(path);
      if (!resource) resources.set(path, (resource = service.find(path, signal)));
      return resource;
    },
    sensors: () => (sensors ??= memberResources(service, linkAt(chassis.body, 'Sensors'), signal, 'leaveOut')),
  };
  const lines: Line[] = [];
  for (const kind of kinds) {
    for (const reader of readers[kind]) {
      const found = await reader(source);
      lines.push(...found);
      if (found.length > 0) break;
    }
  }
  return lines;
}

function isThere(item: Json): boolean {
  return textAt(item, 'Status', 'State') !== 'Absent';
}

function nameOf(item: Json, fallback: string): string {
  const names = ['Name', 'FanName', 'DeviceName', 'PhysicalContext', 'Id', 'MemberId'];
  for (const name of names) {
    const found = textAt(item, name);
    if (found !== undefined) return found;
  }
  return fallback;
}

/** What stands in a list of a resource that the chassis names. */
const listed =
  (resource: string, list: string, fallback: string, value: (item: Json) => string): Reader =>
  async ({ chassis, read }) => {
    const found = await read(linkAt(chassis.body, resource));
    return listAt(found?.body, list)
      .filter(isThere)
      .map((item): Line => [nameOf(item, fallback), value(item)]);
  };

const fanSpeed = (item: Json): string =>
  (textAt(item, 'ReadingUnits') === 'Percent' ? percent : rpm)(numberAt(item, 'Reading'));

async function metricsTemperatures({ chassis, read }: Source): Promise<readonly Line[]> {
  const subsystem = await read(linkAt(chassis.body, 'ThermalSubsystem'));
  const metrics = await read(linkAt(subsystem?.body, 'ThermalMetrics'));
  return listAt(metrics?.body, 'TemperatureReadingsCelsius').map((item): Line => {
    const sensor = textAt(item, 'DataSourceUri')?.split('/').at(-1);
    return [nameOf(item, sensor ?? 'Temperature'), celsius(numberAt(item, 'Reading'))];
  });
}

async function subsystemFans({ chassis, read, service, signal }: Source): Promise<readonly Line[]> {
  const subsystem = await read(linkAt(chassis.body, 'ThermalSubsystem'));
  const fans = await memberResources(service, linkAt(subsystem?.body, 'Fans'), signal, 'leaveOut');
  return fans
    .filter(({ body }) => isThere(body))
    .map(({ body }): Line => {
      const speed = numberAt(body, 'SpeedPercent', 'SpeedRPM');
      return [
        nameOf(body, 'Fan'),
        speed === undefined ? percent(numberAt(body, 'SpeedPercent', 'Reading')) : rpm(speed),
      ];
    });
}

async function powerControls({ chassis, read }: Source): Promise<readonly Line[]> {
  const power = await read(linkAt(chassis.body, 'Power'));
  const controls = listAt(power?.body, 'PowerControl')
    .filter((item) => numberAt(item, 'PowerConsumedWatts') !== undefined)
    .map((item): Line => [wattLabel(nameOf(item, 'System')), watts(numberAt(item, 'PowerConsumedWatts'))]);
  const supplies = listAt(power?.body, 'PowerSupplies')
    .filter(isThere)
    .flatMap((item): readonly Line[] => {
      const output = numberAt(item, 'PowerOutputWatts') ?? numberAt(item, 'LastPowerOutputWatts');
      return output === undefined ? [] : [[wattLabel(nameOf(item, 'Power Supply')), watts(output)]];
    });
  return [...controls, ...supplies];
}

async function supplyWatts({ chassis, read, service, signal }: Source): Promise<readonly Line[]> {
  const environment = await read(linkAt(chassis.body, 'EnvironmentMetrics'));
  const total = numberAt(environment?.body, 'PowerWatts', 'Reading');
  const lines: Line[] = total === undefined ? [] : [[wattLabel(nameOf(chassis.body, 'System')), watts(total)]];
  const subsystem = await read(linkAt(chassis.body, 'PowerSubsystem'));
  for (const supply of await memberResources(service, linkAt(subsystem?.body, 'PowerSupplies'), signal, 'leaveOut')) {
    const metrics = await read(linkAt(supply.body, 'Metrics'));
    const output =
      numberAt(metrics?.body, 'OutputPowerWatts', 'Reading') ?? numberAt(metrics?.body, 'InputPowerWatts', 'Reading');
    if (output !== undefined) lines.push([wattLabel(nameOf(supply.body, 'Power Supply')), watts(output)]);
  }
  return lines;
}

function wattLabel(name: string): string {
  return /power|watt/i.test(name) ? name : `${name} Power`;
}

async function environmentEnergy({ chassis, read }: Source): Promise<readonly Line[]> {
  const environment = await read(linkAt(chassis.body, 'EnvironmentMetrics'));
  const energy = numberAt(environment?.body, 'EnergykWh', 'Reading');
  return energy === undefined ? [] : [['Energy', kilowattHours(energy)]];
}

const formats: Readonly<Record<string, (value: number | undefined) => string>> = {
  Temperature: celsius,
  Voltage: volts,
  Power: watts,
  Rotational: rpm,
  EnergykWh: kilowattHours,
  Altitude: metres,
};

function sensorsOf(type: string): Reader {
  return async ({ sensors }) =>
    (await sensors())
      .filter(({ body }) => textAt(body, 'ReadingType') === type && isThere(body))
      .map(({ body }): Line => {
        const unit = textAt(body, 'ReadingUnits') === '%' ? percent : formats[type]!;
        return [nameOf(body, type), unit(numberAt(body, 'Reading'))];
      });
}

/** Where readings of a kind are, the richest first; the next is asked only if there are none. */
const readers: Readonly<Record<ReadingKind, readonly Reader[]>> = {
  temp: [
    listed('Thermal', 'Temperatures', 'Temperature', (item) => celsius(numberAt(item, 'ReadingCelsius'))),
    metricsTemperatures,
    sensorsOf('Temperature'),
  ],
  voltage: [
    listed('Power', 'Voltages', 'Voltage', (item) => volts(numberAt(item, 'ReadingVolts'))),
    sensorsOf('Voltage'),
  ],
  wattage: [powerControls, supplyWatts, sensorsOf('Power')],
  fanspeed: [listed('Thermal', 'Fans', 'Fan', fanSpeed), subsystemFans, sensorsOf('Rotational')],
  energy: [environmentEnergy, sensorsOf('EnergykWh')],
  altitude: [sensorsOf('Altitude')],
};
