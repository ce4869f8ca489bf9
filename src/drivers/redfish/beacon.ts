import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { flagAt, textAt } from '../../protocols/redfish/json.ts';
import type { Beacon } from '../capabilities.ts';
import { allowedWord, notOffered } from './actions.ts';
import { chassisFor, systemIfAny, type Target } from './target.ts';

type Action = Parameters<Beacon['set']>[0];

interface Light {
  readonly resource: Resource;
  readonly property: 'LocationIndicatorActive' | 'IndicatorLED';
}

/** IndicatorLED values (deprecated in the DMTF schemas, still all that many services have). */
const colours: Readonly<Record<Action, readonly string[]>> = {
  on: ['Lit', 'Blinking'],
  off: ['Off'],
  blink: ['Blinking'],
};
const shown: Readonly<Record<string, string>> = { Lit: 'on', Blinking: 'blink', Off: 'off' };

export function redfishBeacon(target: Target): Beacon {
  return {
    async state(signal) {
      const [light] = await lightsOf(target, signal);
      if (!light) throw noLight();
      return stateOf(light);
    },
    async set(action, signal) {
      const lights = await lightsOf(target, signal);
      const light = lights.find(({ property }) => action !== 'blink' || property === 'IndicatorLED');
      if (!light) throw lights.length > 0 ? notOffered('blinking light', ['on', 'off']) : noLight();
      await target.service.patch(light.resource, changeFor(light, action), signal);
    },
  };
}

function noLight(): Fault {
  return new Fault('invalid', 'its service processor has no location light.');
}

/** Best first: the newer property before the older, the system's light before that of its chassis. */
async function lightsOf(target: Target, signal: AbortSignal): Promise<readonly Light[]> {
  const system = await systemIfAny(target, signal);
  const resources = [...(system ? [system] : []), ...(await chassisFor(target, signal))];
  const newer = resources.filter(({ body }) => flagAt(body, 'LocationIndicatorActive') !== undefined);
  const older = resources.filter(({ body }) => (textAt(body, 'IndicatorLED') ?? 'Unknown') !== 'Unknown');
  return [
    ...newer.map((resource): Light => ({ resource, property: 'LocationIndicatorActive' })),
    ...older.map((resource): Light => ({ resource, property: 'IndicatorLED' })),
  ];
}

export function stateOf({ resource: { body }, property }: Light): string {
  if (property === 'LocationIndicatorActive') return flagAt(body, property) === true ? 'on' : 'off';
  const colour = textAt(body, property) ?? '';
  return shown[colour] ?? colour.toLowerCase();
}

function changeFor({ resource: { body }, property }: Light, action: Action): Record<string, unknown> {
  if (property === 'LocationIndicatorActive') return { [property]: action === 'on' };
  const colour = allowedWord(body, property, colours[action]);
  if (colour === undefined) throw new Fault('invalid', `its location light cannot be set to ${action}.`);
  return { [property]: colour };
}
