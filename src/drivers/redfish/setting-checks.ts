import type { Check } from '../bmc/kept-settings.ts';
import type { SpReader } from './sp-attributes.ts';
import type { Target } from './target.ts';

/** Attributes whose values are not repeated. */
const hidden: readonly string[] = ['community'];

/** What a setting reads back as, unless as it was written; undefined if that cannot be known. */
const readsAs: Readonly<Record<string, (value: string) => string | undefined>> = {
  ip: (value) => (value === 'dhcp' ? undefined : value),
  vlan: (value) => (['off', '0'].includes(value) ? 'BMC VLAN disabled' : String(Number(value))),
  ntp: (value) => serverList(value),
  ntpservers: (value) => serverList(value),
};

const serverList = (value: string): string =>
  value
    .split(',')
    .map((server) => server.trim())
    .join(',');

/** How settings are read back. */
export function settingChecks(
  target: Target,
  readers: Readonly<Record<string, SpReader>>,
  settings: Readonly<Record<string, string>>,
): Check[] {
  return Object.entries(settings).flatMap(([attribute, value]) => {
    const read = readers[attribute];
    const wanted = readsAs[attribute] ? readsAs[attribute](value) : value;
    if (!read || wanted === undefined) return [];
    return {
      attribute,
      wanted,
      hidden: hidden.includes(attribute),
      read: async (signal) => (await read(target, signal))[0]?.[1],
      // Services may hide what is secret, and write names in their own case.
      isSame: (shown) => shown.toLowerCase() === wanted.toLowerCase() || /^\*+$/.test(shown),
    } satisfies Check;
  });
}
