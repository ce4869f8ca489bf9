import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { textAt } from '../../protocols/redfish/json.ts';
import type { Vitals, VitalsKind } from '../capabilities.ts';
import { lightIn } from './beacon.ts';
import { type Line, labelled, message, present } from './labels.ts';
import { powered, type PowerReader, unknownPowerState } from './power.ts';
import { type ReadingKind, readingKinds } from './measures.ts';
import { readingLines } from './merged-readings.ts';
import { readingsOf } from './readings.ts';
import { machineChassisFor, type Target } from './target.ts';

/** As the reference system orders them. */
const allKinds: readonly VitalsKind[] = [...readingKinds, 'leds', 'power', 'chassis'];
const noLeds: Line = [message, 'No supported LEDs found in system'];

const policies: Readonly<Record<string, string>> = {
  AlwaysOn: 'Always On',
  AlwaysOff: 'Always Off',
  LastState: 'Last State',
};

/** What kinds of hardware report differently. */
export interface VitalsWays {
  readonly power: PowerReader;
  /** `resources` are what is switched and its chassis. */
  leds(target: Target, resources: readonly Resource[], signal: AbortSignal): Promise<readonly Line[]>;
}

const usual: VitalsWays = { power: powered, leds: async (_target, resources) => ledLines(resources) };

export function redfishVitals(target: Target, ways = usual): Vitals {
  return {
    async read(kinds, signal) {
      const unknown = kinds.filter((kind) => !allKinds.includes(kind));
      if (unknown.length > 0) {
        throw new Fault('invalid', `unknown vitals: ${unknown.join(', ')}; known are ${allKinds.join(', ')}.`);
      }
      const wanted = kinds.length > 0 ? allKinds.filter((kind) => kinds.includes(kind)) : allKinds;
      const lines: Line[] = [];
      const { own: chassis, parts } = await machineChassisFor(target, signal, 'measured');
      const readings = wanted.filter((kind): kind is ReadingKind => readingKinds.includes(kind as ReadingKind));
      const found = await readingsOf(target.service, [...chassis, ...parts], readings, signal);
      lines.push(...readingLines(found, readings));
      if (wanted.some((kind) => kind === 'leds' || kind === 'power' || kind === 'chassis')) {
        const { resource, state } = await ways.power(target, signal);
        if (wanted.includes('leds')) {
          const leds = await ways.leds(target, [resource, ...chassis], signal);
          lines.push(...(leds.length === 0 && kinds.length > 0 ? [noLeds] : leds));
        }
        // Whoever asks for all gets the rest where it is not known.
        if (kinds.includes('power') && state === undefined) throw unknownPowerState();
        if (wanted.includes('power') || wanted.includes('chassis')) lines.push(...present(['Power Status', state]));
        if (wanted.includes('chassis')) lines.push(...chassisLines(resource, chassis));
      }
      return labelled(lines.length > 0 ? lines : [[message, `No ${wanted.join(', ')} sensors found in system`]]);
    },
  };
}

/** As the values of IndicatorLED are called. */
const ledWords: Readonly<Record<string, string>> = { on: 'lit', blink: 'blinking' };

function ledLines(resources: readonly Resource[]): readonly Line[] {
  const light = lightIn(resources);
  return present(['LED Identify', light?.older ? (ledWords[light.state] ?? light.state) : undefined]);
}

function chassisLines(resource: Resource, chassis: readonly Resource[]): readonly Line[] {
  const [intrusion] = chassis.flatMap(({ body }) => textAt(body, 'PhysicalSecurity', 'IntrusionSensor') ?? []);
  const policy = textAt(resource.body, 'PowerRestorePolicy');
  const light = lightIn([resource, ...chassis]);
  return present(
    ['Power Restore Policy', policy === undefined ? undefined : (policies[policy] ?? policy)],
    ['Chassis intrusion', intrusion === undefined ? undefined : intrusion === 'Normal' ? 'inactive' : 'active'],
    ['Identify Light', light?.newer ? light.state : undefined],
  );
}
