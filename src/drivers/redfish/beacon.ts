import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { flagAt, textAt } from '../../protocols/redfish/json.ts';
import type { Beacon } from '../capabilities.ts';
import { allowedWord, chassisFor, notOffered, systemIfAny, type Target } from './target.ts';

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

/** `wordFor` says a state in the words of a kind of hardware. */
export function redfishBeacon(target: Target, wordFor = (state: string): string => state): Beacon {
  let steady = false;
  return {
    async state(signal) {
      const lights = await lightsOf(target, signal);
      const state = stateOf(lights);
      if (state === undefined) throw noLight();
      // Some services blink with a light that is on, and show that in the older property.
      return wordFor(state === 'blink' && steady && isActive(lights) ? 'on' : state);
    },
    async set(action, signal) {
      const lights = await lightsOf(target, signal);
      const light = lights.find(({ property }) => action !== 'blink' || property === 'IndicatorLED');
      if (!light) throw lights.length > 0 ? notOffered('blinking light', ['on', 'off']) : noLight();
      await target.service.patch(light.resource, changeFor(light, action), signal);
      steady = action === 'on';
      if (action === 'off' && stateOf(lights) === 'blink') await stopBlinking(target, signal);
    },
  };
}

function noLight(): Fault {
  return new Fault('invalid', 'its BMC has no location light.');
}

/** Where the properties stand for lights of their own, switching one off leaves the other. */
async function stopBlinking(target: Target, signal: AbortSignal): Promise<void> {
  const blinking = (await lightsOf(target, signal)).find(isBlinking);
  if (blinking) await target.service.patch(blinking.resource, changeFor(blinking, 'off'), signal);
}

/** Best first: the newer property before the older, the system's light before that of its chassis. */
async function lightsOf(target: Target, signal: AbortSignal): Promise<readonly Light[]> {
  const system = await systemIfAny(target, signal);
  return lightsIn([...(system ? [system] : []), ...(await chassisFor(target, signal))]);
}

function lightsIn(resources: readonly Resource[]): readonly Light[] {
  const newer = resources.filter(({ body }) => flagAt(body, 'LocationIndicatorActive') !== undefined);
  const older = resources.filter(({ body }) => (textAt(body, 'IndicatorLED') ?? 'Unknown') !== 'Unknown');
  return [
    ...newer.map((resource): Light => ({ resource, property: 'LocationIndicatorActive' })),
    ...older.map((resource): Light => ({ resource, property: 'IndicatorLED' })),
  ];
}

const isBlinking = ({ resource, property }: Light): boolean =>
  property === 'IndicatorLED' && textAt(resource.body, property) === 'Blinking';

const isActive = (lights: readonly Light[]): boolean =>
  lights.some(({ resource }) => flagAt(resource.body, 'LocationIndicatorActive') === true);

/** The newer property does not distinguish blinking from shining, so the older has its say. Undefined: there is no light. */
function stateOf(lights: readonly Light[]): string | undefined {
  if (lights.some(isBlinking)) return 'blink';
  const [light] = lights;
  if (!light) return undefined;
  const { body } = light.resource;
  if (light.property === 'LocationIndicatorActive') return flagAt(body, light.property) === true ? 'on' : 'off';
  const colour = textAt(body, light.property) ?? '';
  return shown[colour] ?? colour.toLowerCase();
}

/** The state of the location light, and whether each of the two properties reports it. */
export function lightIn(resources: readonly Resource[]): { state: string; newer: boolean; older: boolean } | undefined {
  const lights = lightsIn(resources);
  const state = stateOf(lights);
  if (state === undefined) return undefined;
  const reports = (wanted: Light['property']): boolean => lights.some(({ property }) => property === wanted);
  return { state, newer: reports('LocationIndicatorActive'), older: reports('IndicatorLED') };
}

function changeFor({ resource: { body }, property }: Light, action: Action): Record<string, unknown> {
  if (property === 'LocationIndicatorActive') return { [property]: action === 'on' };
  const colour = allowedWord(body, property, colours[action]);
  if (colour === undefined) throw new Fault('invalid', `its location light cannot be set to ${action}.`);
  return { [property]: colour };
}
