import { memberResources } from '../../protocols/redfish/collection.ts';
import { flagAt, linkAt } from '../../protocols/redfish/json.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { lightIn } from '../redfish/beacon.ts';
import type { Line } from '../redfish/labels.ts';
import type { Target } from '../redfish/target.ts';

const fanCount = 4;
const untold = 'N/A';
const words: Readonly<Record<string, string>> = { on: 'On', off: 'Off', blink: 'Blink' };

/** Redfish has one location light, which OpenBMC shows at both sides. */
export const openbmcBeaconWords = (state: string): string => {
  const word = words[state] ?? state;
  return `Front:${word} Rear:${word}`;
};

/** The lights of a machine; Redfish reports nothing of those for faults and power. */
export async function openbmcLeds(
  { service }: Target,
  resources: readonly Resource[],
  signal: AbortSignal,
): Promise<readonly Line[]> {
  const identify = words[lightIn(resources)?.state ?? ''] ?? untold;
  const fans = await fanLights({ service }, resources, signal);
  const sides = ['Front', 'Rear'].flatMap((side): Line[] => [
    [`LEDs ${side} Fault`, untold],
    [`LEDs ${side} Identify`, identify],
    [`LEDs ${side} Power`, untold],
  ]);
  return [...fans.map((state, index): Line => [`LEDs Fan${index}`, state]), ...sides];
}

async function fanLights(
  { service }: Pick<Target, 'service'>,
  resources: readonly Resource[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const states: string[] = [];
  for (const { body } of resources) {
    const thermal = await service.find(linkAt(body, 'ThermalSubsystem'), signal);
    for (const fan of await memberResources(service, linkAt(thermal?.body, 'Fans'), signal)) {
      const on = flagAt(fan.body, 'LocationIndicatorActive');
      states.push(on === undefined ? untold : on ? 'On' : 'Off');
    }
  }
  return Array.from({ length: fanCount }, (_, index) => states[index] ?? untold);
}
