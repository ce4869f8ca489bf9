import { type Bmc, cpuCelsius, fanSpeed, healthy, highestLimit, inletCelsius, lowestLimit, watts } from '../bmc.ts';
import {
  collection,
  done,
  type Json,
  link,
  notInList,
  outOfRange,
  type Reply,
  unknownMember,
  unknownMembers,
  textOf,
} from '../resource.ts';

interface Sensor {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly units: string;
  readonly context: string;
  readonly reading: () => number | null;
}

/** PowerSubsystem, ThermalSubsystem, Sensors, EnvironmentMetrics and Controls. Answers the links of the chassis. */
export function addEnvironment(bmc: Bmc, chassis: string): Json {
  const sensors = addSensors(bmc, chassis);
  const control = addControl(bmc, chassis);
  return {
    Sensors: link(`${chassis}/Sensors`),
    PowerSubsystem: addPowerSubsystem(bmc, chassis),
    ThermalSubsystem: addThermalSubsystem(bmc, chassis, sensors),
    EnvironmentMetrics: addMetrics(bmc, chassis, sensors, control),
    Controls: link(`${chassis}/Controls`),
  };
}

type SensorPaths = Readonly<Record<string, string>>;

function addSensors(bmc: Bmc, chassis: string): SensorPaths {
  const path = `${chassis}/Sensors`;
  const temperature = { type: 'Temperature', units: 'Cel' };
  const sensors: readonly Sensor[] = [
    { ...temperature, id: 'inlet', name: 'Inlet Temp', context: 'Intake', reading: () => inletCelsius(bmc) },
    { ...temperature, id: 'cpu1', name: 'CPU1 Temp', context: 'CPU', reading: () => cpuCelsius(bmc) },
    { ...temperature, id: 'cpu2', name: 'CPU2 Temp', context: 'CPU', reading: () => null },
    ...[1, 2].map((fan) => ({
      id: `fan${fan}`,
      name: `Fan ${fan}`,
      type: 'Rotational',
      units: 'RPM',
      context: 'Fan',
      reading: () => fanSpeed(bmc, fan),
    })),
    {
      id: 'rail',
      name: '12V Rail',
      type: 'Voltage',
      units: 'V',
      context: 'SystemBoard',
      reading: () => 11.9 + (bmc.index % 4) / 10,
    },
    { id: 'power', name: 'System Power', type: 'Power', units: 'W', context: 'Chassis', reading: () => watts(bmc) },
    {
      id: 'energy',
      name: 'System Energy',
      type: 'EnergykWh',
      units: 'kW.h',
      context: 'Chassis',
      reading: () => 1234.5 + bmc.index,
    },
  ];
  const pathOf = (id: string): string => `${path}/${id}_${bmc.tag}`;
  bmc.resources.set(
    path,
    collection(path, 'Sensor', () => sensors.map(({ id }) => pathOf(id))),
  );
  for (const { id, name, type, units, context, reading } of sensors) {
    bmc.resources.set(pathOf(id), {
      get: () => ({
        '@odata.id': pathOf(id),
        '@odata.type': '#Sensor.v1_7_0.Sensor',
        Id: `${id}_${bmc.tag}`,
        Name: name,
        ReadingType: type,
        ReadingUnits: units,
        Reading: reading(),
        PhysicalContext: context,
        Status: reading() === null ? { State: 'Absent' } : healthy,
        ...(type === 'Temperature' ? { Thresholds: { UpperCritical: { Reading: 95 } } } : {}),
      }),
    });
  }
  return Object.fromEntries(sensors.map(({ id }) => [id, pathOf(id)]));
}

function addPowerSubsystem(bmc: Bmc, chassis: string): Json {
  const path = `${chassis}/PowerSubsystem`;
  const supplies = `${path}/PowerSupplies`;
  const pathOf = (number: number): string => `${supplies}/psu${number}-${bmc.tag}`;
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#PowerSubsystem.v1_1_0.PowerSubsystem',
      Id: 'PowerSubsystem',
      Name: 'Power Subsystem',
      CapacityWatts: highestLimit,
      PowerSupplies: link(supplies),
      ...(bmc.kind === 'openbmc' ? { PowerSupplyRedundancy: [{ Status: healthy }] } : {}),
      Status: healthy,
    }),
  });
  bmc.resources.set(
    supplies,
    collection(supplies, 'PowerSupply', () => [1, 2].map(pathOf)),
  );
  for (const number of [1, 2]) {
    bmc.resources.set(pathOf(number), {
      get: () => ({
        '@odata.id': pathOf(number),
        '@odata.type': '#PowerSupply.v1_5_0.PowerSupply',
        Id: `psu${number}-${bmc.tag}`,
        Name: `PSU ${number}`,
        Model: 'LP-1600',
        PowerCapacityWatts: 1600,
        Status: healthy,
      }),
    });
  }
  return link(path);
}

function addThermalSubsystem(bmc: Bmc, chassis: string, sensors: SensorPaths): Json {
  const path = `${chassis}/ThermalSubsystem`;
  const fans = `${path}/Fans`;
  const metrics = `${path}/ThermalMetrics`;
  const pathOf = (number: number): string => `${fans}/fan${number}-${bmc.tag}`;
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#ThermalSubsystem.v1_2_0.ThermalSubsystem',
      Id: 'ThermalSubsystem',
      Name: 'Thermal Subsystem',
      Fans: link(fans),
      ThermalMetrics: link(metrics),
      Status: healthy,
    }),
  });
  bmc.resources.set(
    fans,
    collection(fans, 'Fan', () => [1, 2].map(pathOf)),
  );
  for (const number of [1, 2]) {
    bmc.resources.set(pathOf(number), {
      get: () => ({
        '@odata.id': pathOf(number),
        '@odata.type': '#Fan.v1_4_0.Fan',
        Id: `fan${number}-${bmc.tag}`,
        Name: `Fan ${number}`,
        SpeedPercent: {
          DataSourceUri: sensors[`fan${number}`],
          Reading: Math.round(fanSpeed(bmc, number) / 120),
          SpeedRPM: fanSpeed(bmc, number),
        },
        ...(bmc.kind === 'openbmc' ? { LocationIndicatorActive: false } : {}),
        Status: healthy,
      }),
    });
  }
  bmc.resources.set(metrics, {
    get: () => ({
      '@odata.id': metrics,
      '@odata.type': '#ThermalMetrics.v1_1_0.ThermalMetrics',
      Id: 'ThermalMetrics',
      Name: 'Thermal Metrics',
      TemperatureSummaryCelsius: { Intake: { Reading: inletCelsius(bmc), DataSourceUri: sensors.inlet } },
      TemperatureReadingsCelsius: [
        {
          DeviceName: 'Inlet Temp',
          PhysicalContext: 'Intake',
          Reading: inletCelsius(bmc),
          DataSourceUri: sensors.inlet,
        },
        { DeviceName: 'CPU1 Temp', PhysicalContext: 'CPU', Reading: cpuCelsius(bmc), DataSourceUri: sensors.cpu1 },
      ],
    }),
  });
  return link(path);
}

const limitMembers = (bmc: Bmc): Json => ({
  SetPoint: bmc.limit.watts,
  AllowableMin: lowestLimit,
  AllowableMax: highestLimit,
  ControlMode: bmc.limit.active ? 'Automatic' : 'Disabled',
});

function addControl(bmc: Bmc, chassis: string): string {
  const controls = `${chassis}/Controls`;
  const path = `${controls}/limit_${bmc.tag}`;
  bmc.resources.set(
    controls,
    collection(controls, 'Control', () => [path]),
  );
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#Control.v1_3_0.Control',
      Id: `limit_${bmc.tag}`,
      Name: 'System Power Limit',
      ControlType: 'Power',
      SetPointUnits: 'W',
      ...limitMembers(bmc),
      Status: healthy,
    }),
    patch: (body) => changeLimit(bmc, body),
    privilege: 'ConfigureComponents',
  });
  return path;
}

function addMetrics(bmc: Bmc, chassis: string, sensors: SensorPaths, control: string): Json {
  const path = `${chassis}/EnvironmentMetrics`;
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#EnvironmentMetrics.v1_3_0.EnvironmentMetrics',
      Id: 'EnvironmentMetrics',
      Name: 'Environment Metrics',
      PowerWatts: { Reading: watts(bmc), DataSourceUri: sensors.power },
      EnergykWh: { Reading: 1234.5 + bmc.index, DataSourceUri: sensors.energy },
      TemperatureCelsius: { Reading: inletCelsius(bmc), DataSourceUri: sensors.inlet },
      PowerLimitWatts: { ...limitMembers(bmc), DataSourceUri: control },
    }),
    patch: (body) => {
      const [unknown] = unknownMembers(body, ['PowerLimitWatts']);
      if (unknown !== undefined) return unknownMember(unknown);
      return changeLimit(bmc, (body.PowerLimitWatts ?? {}) as Json);
    },
    privilege: 'ConfigureComponents',
    demandsETag: bmc.kind === 'plain',
  });
  return link(path);
}

function changeLimit(bmc: Bmc, body: Json): Reply {
  const [unknown] = unknownMembers(body, ['SetPoint', 'ControlMode']);
  if (unknown !== undefined) return unknownMember(unknown);
  const { SetPoint = bmc.limit.watts, ControlMode } = body;
  if (typeof SetPoint !== 'number' || SetPoint < lowestLimit || SetPoint > highestLimit) {
    return outOfRange(SetPoint, 'SetPoint');
  }
  if (ControlMode !== undefined && !['Automatic', 'Disabled'].includes(textOf(ControlMode))) {
    return notInList(ControlMode, 'ControlMode');
  }
  bmc.limit = { watts: SetPoint, active: ControlMode === undefined ? bmc.limit.active : ControlMode === 'Automatic' };
  return done;
}
