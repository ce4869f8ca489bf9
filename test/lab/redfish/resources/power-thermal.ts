import { type Bmc, cpuCelsius, fanSpeed, healthy, highestLimit, inletCelsius, lowestLimit, watts } from '../bmc.ts';
import { done, type Json, link, outOfRange, type Reply, unknownMember, unknownMembers } from '../resource.ts';

/** Power and Thermal, as services had them until 2020. Answers the links of the chassis. */
export function addPowerAndThermal(bmc: Bmc, chassis: string): Json {
  const power = `${chassis}/Power`;
  const thermal = `${chassis}/Thermal`;
  bmc.resources.set(power, {
    get: () => ({
      '@odata.id': power,
      '@odata.type': '#Power.v1_7_0.Power',
      Id: 'Power',
      Name: 'Power',
      PowerControl: [control(bmc, power)],
      Voltages: [voltage(bmc, power)],
      ...(bmc.kind === 'openbmc' ? { Redundancy: [redundancy(bmc, power)] } : {}),
      PowerSupplies: [1, 2].map((number) => supply(bmc, power, number)),
    }),
    patch: (body) => (bmc.kind === 'openbmc' && body.Redundancy ? changeRedundancy(bmc, body) : changeLimit(bmc, body)),
    privilege: 'ConfigureManager',
    demandsETag: bmc.kind === 'plain' && bmc.index % 4 === 2,
  });
  bmc.resources.set(thermal, {
    get: () => ({
      '@odata.id': thermal,
      '@odata.type': '#Thermal.v1_7_0.Thermal',
      Id: 'Thermal',
      Name: 'Thermal',
      Temperatures: [
        temperature(thermal, 0, 'Inlet Temp', 'Intake', inletCelsius(bmc), 50),
        temperature(thermal, 1, 'CPU1 Temp', 'CPU', cpuCelsius(bmc), 95),
        // Readings that are not there are null in the standard, and services do send them.
        { ...temperature(thermal, 2, 'CPU2 Temp', 'CPU', 0, 95), ReadingCelsius: null, Status: { State: 'Absent' } },
      ],
      Fans: [1, 2].map((number) => ({
        '@odata.id': `${thermal}#/Fans/${number - 1}`,
        MemberId: String(number - 1),
        Name: `Fan ${number}`,
        Reading: fanSpeed(bmc, number),
        ReadingUnits: 'RPM',
        ...(bmc.kind === 'sparse' ? {} : { LowerThresholdCritical: 1200, Status: healthy }),
      })),
    }),
  });
  return { Power: link(power), Thermal: link(thermal) };
}

const control = (bmc: Bmc, power: string): Json => ({
  '@odata.id': `${power}#/PowerControl/0`,
  MemberId: '0',
  Name: 'System Power Control',
  PowerConsumedWatts: watts(bmc),
  ...(bmc.kind === 'sparse'
    ? {}
    : {
        PowerCapacityWatts: highestLimit,
        PowerMetrics: {
          IntervalInMin: 5,
          MinConsumedWatts: watts(bmc) - 5,
          MaxConsumedWatts: watts(bmc) + 15,
          AverageConsumedWatts: watts(bmc),
        },
      }),
  PowerLimit: { LimitInWatts: bmc.limit.active ? bmc.limit.watts : null, LimitException: 'NoAction' },
});

const redundancy = (bmc: Bmc, power: string): Json => ({
  '@odata.id': `${power}#/Redundancy/0`,
  MemberId: '0',
  Name: 'Power Supplies',
  RedundancyEnabled: bmc.redundant,
  Status: healthy,
});

function changeRedundancy(bmc: Bmc, body: Json): Reply {
  const [group] = body.Redundancy as { RedundancyEnabled?: unknown }[];
  if (typeof group?.RedundancyEnabled !== 'boolean') return unknownMember('Redundancy');
  bmc.redundant = group.RedundancyEnabled;
  return done;
}

const voltage = (bmc: Bmc, power: string): Json => ({
  '@odata.id': `${power}#/Voltages/0`,
  MemberId: '0',
  Name: '12V Rail',
  ReadingVolts: 11.9 + (bmc.index % 4) / 10,
  UpperThresholdCritical: 13.2,
  Status: healthy,
});

const supply = (bmc: Bmc, power: string, number: number): Json => ({
  '@odata.id': `${power}#/PowerSupplies/${number - 1}`,
  MemberId: String(number - 1),
  Name: `PSU ${number}`,
  Status: healthy,
  ...(bmc.kind === 'sparse'
    ? {}
    : { PowerCapacityWatts: 1600, LineInputVoltage: 230, LastPowerOutputWatts: watts(bmc) / 2, Model: 'LP-1600' }),
});

const temperature = (
  thermal: string,
  place: number,
  name: string,
  context: string,
  celsius: number,
  critical: number,
): Json => ({
  '@odata.id': `${thermal}#/Temperatures/${place}`,
  MemberId: String(place),
  Name: name,
  SensorNumber: place + 1,
  ReadingCelsius: celsius,
  UpperThresholdCritical: critical,
  PhysicalContext: context,
  Status: healthy,
});

function changeLimit(bmc: Bmc, body: Json): Reply {
  const [unknown] = unknownMembers(body, ['PowerControl']);
  if (unknown !== undefined) return unknownMember(unknown);
  const limit = (body.PowerControl as { PowerLimit?: { LimitInWatts?: unknown } }[] | undefined)?.[0]?.PowerLimit;
  if (limit?.LimitInWatts === undefined) return unknownMember('PowerControl');
  const wanted = limit.LimitInWatts;
  if (wanted === null) {
    bmc.limit = { ...bmc.limit, active: false };
    return done;
  }
  if (typeof wanted !== 'number' || wanted < lowestLimit || wanted > highestLimit) {
    return outOfRange(wanted, 'LimitInWatts');
  }
  bmc.limit = { watts: wanted, active: true };
  return done;
}
