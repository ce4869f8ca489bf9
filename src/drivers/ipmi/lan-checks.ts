import { getLanParameter, type LanSetting } from '../../protocols/ipmi/commands/lan.ts';
import { decodeDestination } from '../../protocols/ipmi/commands/lan-values.ts';
import type { Check } from '../bmc/kept-settings.ts';
import type { Bmc } from './bmc.ts';
import { lanAttributes } from './sp-get.ts';

/** How a LAN setting is read back; none for one that only goes with another. */
export function lanChecks(bmc: Bmc, channel: number, { parameter, value }: LanSetting): Check[] {
  const [number = 0] = value;
  const [attribute, show, selector] =
    parameter === 'destination'
      ? ([`snmpdest${number}`, decodeDestination, number] as const)
      : ([attributeOf(parameter), lanAttributes.get(attributeOf(parameter))?.show, 0] as const);
  if (show === undefined) return [];
  return [
    {
      attribute,
      wanted: show(Buffer.from(value)),
      async read(signal) {
        const found = await getLanParameter(bmc.link, channel, parameter, signal, selector);
        return found && show(found);
      },
    },
  ];
}

const attributeOf = (parameter: string): string =>
  [...lanAttributes].find(([, attribute]) => attribute.parameter === parameter)?.[0] ?? '';
