import { Type } from 'typebox';
import { Count, kind, ListenAddresses, setting, type ValuesOf } from '../../core/settings.ts';

const isReceiver = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '';
};

export const hardwareEventSettings = Type.Object({
  hardware: setting(
    kind('a noderange', Type.String({ minLength: 1 })),
    'noderange of the nodes whose BMCs report events',
    { defaultText: 'none: muster asks no BMC for events' },
  ),
  logSeconds: setting(
    Count,
    'seconds between two looks at the event log of a BMC that sends no events, and at the subscription of one that does; at least 10',
    { default: 300 },
  ),
  pushListen: setting(ListenAddresses, 'addresses and ports where muster takes the events that BMCs send', {
    defaultText: 'none',
  }),
  pushUrl: setting(
    kind('a URL http:// or https://', Type.Refine(Type.String(), isReceiver)),
    'URL under which BMCs reach `events.pushListen`; with `https://` the certificate is that of the REST interface',
    { defaultText: 'none: no BMC is asked to send events' },
  ),
  trapListen: setting(ListenAddresses, 'addresses and ports where muster takes SNMP traps of BMCs', {
    defaultText: 'none',
  }),
  trapCommunity: setting(
    kind('a community', Type.String({ minLength: 1, maxLength: 255 })),
    'community that traps must have',
    {
      secret: true,
      defaultText: 'none: any; who knows the address of a BMC can then forge its traps',
    },
  ),
});
export type HardwareEventSettings = ValuesOf<typeof hardwareEventSettings>;
