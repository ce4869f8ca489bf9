import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { flagAt, textAt } from '../../protocols/redfish/json.ts';
import type { Vitals, VitalsKind } from '../capabilities.ts';
import { type Line, labelled, message, present } from './labels.ts';
import { powered } from './power-state.ts';
import { chassisReadings, type ReadingKind, readingKinds } from './readings.ts';
import { chassisFor, type Target } from './target.ts';

/** As the reference system orders them. */
const allKinds: readonly VitalsKind[] = [...readingKinds, 'leds', 'power', 'chassis'];
const noLeds: Line = [message, 'No supported LEDs found in system'];

const policies: Readonly<Record<string, string>> = {
  AlwaysOn: 'Always On',
  AlwaysOff: 'Always Off',
  LastState: 'Last State',
};

export function redfishVitals(target: Target): Vitals {
  return {
    async read(kinds, signal) {
      const unknown = kinds.filter((kind) => !allKinds.includes(kind));
      if (unknown.length > 0) {
        throw new Fault('invalid', `unknown vitals: ${unknown.join(', ')}; known are ${allKinds.join(', ')}.`);
      }
      const wanted = kinds.length > 0 ? allKinds.filter((kind) => kinds.includes(kind)) : allKinds;
      const lines: Line[] = [];
      const chassis = await chassisFor(target, signal);
      const readings = wanted.filter((kind): kind is ReadingKind => readingKinds.includes(kind as ReadingKind));
      for (const one of chassis) lines.push(...(await chassisReadings(target.service, one, readings, signal)));
      if (wanted.some((kind) => kind === 'leds' || kind === 'power' || kind === 'chassis')) {
        const { resource, state } = await powered(target, signal);
        if (wanted.includes('leds')) {
          const leds = ledLines([resource, ...chassis]);
          lines.push(...(leds.length === 0 && kinds.length > 0 ? [noLeds] : leds));
        }
        if (wanted.includes('power') || wanted.includes('chassis')) lines.push(['Power Status', state]);
        if (wanted.includes('chassis')) lines.push(...chassisLines(resource, chassis));
      }
      return labelled(lines.length > 0 ? lines : [[message, `No ${wanted.join(', ')} sensors found in system`]]);
    },
  };
}

function ledLines(resources: readonly Resource[]): readonly Line[] {
  const led = resources.flatMap(({ body }) => textAt(body, 'IndicatorLED') ?? []).find((word) => word !== 'Unknown');
  return present(['LED Identify', led?.toLowerCase()]);
}

function chassisLines(resource: Resource, chassis: readonly Resource[]): readonly Line[] {
  const [intrusion] = chassis.flatMap(({ body }) => textAt(body, 'PhysicalSecurity', 'IntrusionSensor') ?? []);
  const policy = textAt(resource.body, 'PowerRestorePolicy');
  const [light] = [resource, ...chassis].flatMap(({ body }) => flagAt(body, 'LocationIndicatorActive') ?? []);
  return present(
    ['Power Restore Policy', policy === undefined ? undefined : (policies[policy] ?? policy)],
    ['Chassis intrusion', intrusion === undefined ? undefined : intrusion === 'Normal' ? 'inactive' : 'active'],
    ['Identify Light', light === undefined ? undefined : light ? 'on' : 'off'],
  );
}
