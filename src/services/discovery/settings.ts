import { Type } from 'typebox';
import { expandAddresses } from '../../core/address-range.ts';
import { Count, kind, Names, setting, type ValuesOf } from '../../core/settings.ts';

const most = 1_024;

const AddressRanges = kind(
  `one or more address ranges such as 10.1.0.1-10.1.0.20, of at most ${most} addresses together`,
  Type.Refine(Names, (ranges) => {
    try {
      return expandAddresses(ranges.join(',')).length <= most;
    } catch {
      return false;
    }
  }),
);

export const discoverySettings = Type.Object({
  interfaces: setting(Names, 'interfaces or addresses that devices are searched on', {
    defaultText: 'all but loopback',
  }),
  addresses: setting(AddressRanges, `SLP agents that are asked one by one, at most ${most}`, { defaultText: 'none' }),
  seconds: setting(Count, 'seconds a search may take', { default: 5 }),
});
export type DiscoverySettings = ValuesOf<typeof discoverySettings>;
