import type { Resource } from '../../protocols/redfish/client.ts';
import { linkAt, linksAt, textAt } from '../../protocols/redfish/json.ts';
import type { Line } from './labels.ts';
import { measured, type ReadingKind } from './measures.ts';
import type { ChassisReadings, Reading } from './readings.ts';

interface Placed extends Reading {
  readonly chassis: Resource;
}

/** A line for each reading, by kind. What several places show of one sensor is one line; sensors of one name get labels of their own. */
export function readingLines(found: readonly ChassisReadings[], kinds: readonly ReadingKind[]): readonly Line[] {
  const merged = eachSensorOnce(found).map(({ chassis, readings }) => ({ chassis, readings: united(readings) }));
  const placed = withoutRepeated(merged).flatMap(({ chassis, readings }) =>
    readings.map((one): Placed => ({ ...one, chassis })),
  );
  return kinds.flatMap((kind) => {
    const ofKind = placed.filter((reading) => reading.kind === kind);
    const labels = labelsOf(ofKind);
    return ofKind.map(({ value, unit }, index): Line => [labels[index]!, measured(value, unit)]);
  });
}

/** Collections list a Sensor twice, or that of a chassis beside. */
function eachSensorOnce(found: readonly ChassisReadings[]): readonly ChassisReadings[] {
  const seen = new Set<string>();
  const isNew = ({ sensor }: Reading): boolean => {
    if (sensor === undefined) return true;
    if (seen.has(sensor)) return false;
    seen.add(sensor);
    return true;
  };
  return found.map(({ chassis, readings }) => ({ chassis, readings: readings.filter(isNew) }));
}

/** Readings of equal keys are of the same thing; services write blanks or underscores. */
const keyOf = ({ kind, name }: Reading): string => `${kind} ${name.toLowerCase().replaceAll(/[\s_]+/g, '')}`;

/** Those of one chassis: a Sensor that Thermal or Power lists as well, under the same name, is listed once. */
function united(readings: readonly Reading[]): readonly Reading[] {
  const listed = Map.groupBy(
    readings.filter(({ sensor }) => sensor === undefined),
    keyOf,
  );
  const values = new Map<Reading, number | undefined>();
  const kept = readings.filter((reading) => {
    const same = reading.sensor === undefined ? undefined : listed.get(keyOf(reading))?.shift();
    if (same) values.set(same, same.value ?? reading.value);
    return same === undefined;
  });
  return kept.map((reading) => (values.has(reading) ? { ...reading, value: values.get(reading) } : reading));
}

/** Without the sensors of a chassis that the one around it lists under the same name, unless several inside have that name. */
function withoutRepeated(found: readonly ChassisReadings[]): readonly ChassisReadings[] {
  if (found.length < 2) return found;
  const containersOf = containment(found.map(({ chassis }) => chassis));
  const keys = new Map(found.map(({ chassis, readings }) => [chassis.path, new Set(readings.map(keyOf))]));
  /** How many chassis inside another have a key. */
  const counts = new Map<string, number>();
  const countKey = (container: string, key: string): string => `${container} ${key}`;
  for (const { chassis } of found) {
    for (const container of containersOf(chassis)) {
      for (const key of keys.get(chassis.path)!) {
        const counted = countKey(container, key);
        counts.set(counted, (counts.get(counted) ?? 0) + 1);
      }
    }
  }
  return found.map(({ chassis, readings }) => {
    const around = containersOf(chassis);
    const isRepeated = (key: string): boolean =>
      around.some((container) => keys.get(container)?.has(key) && counts.get(countKey(container, key)) === 1);
    return { chassis, readings: readings.filter((reading) => !isRepeated(keyOf(reading))) };
  });
}

/** Finds the paths of all chassis around one, the nearest first. */
function containment(all: readonly Resource[]): (chassis: Resource) => readonly string[] {
  const parents = new Map<string, string>();
  for (const { path, body } of all) for (const inside of linksAt(body, 'Links', 'Contains')) parents.set(inside, path);
  for (const { path, body } of all) {
    const around = linkAt(body, 'Links', 'ContainedBy');
    if (around !== undefined) parents.set(path, around);
  }
  return ({ path }) => {
    const around: string[] = [];
    for (let here = parents.get(path); here !== undefined && !around.includes(here); here = parents.get(here))
      around.push(here);
    return around;
  };
}

const lastPart = (path: string | undefined): string | undefined => path?.split('/').at(-1);
const idOf = ({ chassis: { path, body } }: Placed): string | undefined => textAt(body, 'Id') ?? lastPart(path);

/** What a reading belongs to, the plainest first; the first that tells all of one name apart is shown behind the name. */
const belongings: readonly ((reading: Placed) => string | undefined)[] = [
  ({ related }) => lastPart(related),
  idOf,
  ({ id }) => id,
  (reading) => reading.id && `${idOf(reading)} ${reading.id}`,
];

/** A label for each. */
function labelsOf(readings: readonly Placed[]): readonly string[] {
  const labels = new Map<Placed, string>();
  for (const [name, same] of Map.groupBy(readings, (reading) => reading.name)) {
    const apart = belongings.map((belongsTo) => same.map(belongsTo)).find(areApart);
    for (const [index, reading] of same.entries())
      labels.set(reading, same.length === 1 ? name : apart ? `${name} (${apart[index]})` : numbered(reading, same));
  }
  return readings.map((reading) => labels.get(reading)!);
}

const areApart = (words: readonly (string | undefined)[]): boolean =>
  words.every((word) => word !== undefined) && new Set(words).size === words.length;

/** By its place in the list of its chassis. */
function numbered(reading: Placed, same: readonly Placed[]): string {
  const beside = same.filter(({ chassis }) => chassis.path === reading.chassis.path);
  const number = `#${beside.indexOf(reading) + 1}`;
  if (beside.length === same.length) return `${reading.name} ${number}`;
  return `${reading.name} (${[idOf(reading), ...(beside.length > 1 ? [number] : [])].join(' ')})`;
}
