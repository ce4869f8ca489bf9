import { Type } from 'typebox';
import { kind, ListenAddresses, oneOf, Path, setting, type ValuesOf } from '../../core/settings.ts';

const UserName = kind('the name of a user of this machine', Type.String({ pattern: /^[a-z_][a-z0-9_-]*$/ }));

export const dnsSettings = Type.Object({
  daemon: setting(
    oneOf('auto', 'systemd', 'process', 'none'),
    'who runs named; `process` is muster itself, with `none` there is none here',
    { default: 'auto' },
  ),
  directory: setting(Path, 'where its zones and its key are kept', {
    defaultText: 'where the package lets named write, or `DIR/dns`',
  }),
  configuration: setting(Path, 'file that named reads first', { defaultText: "the package's, or in the directory" }),
  user: setting(UserName, 'user that named runs as; where muster starts it, this needs a directory outside `DIR`', {
    defaultText: "the package's, or muster's own",
  }),
  listen: setting(ListenAddresses, 'where named serves', {
    defaultText: 'port 53 on all addresses, or on those of `site.dnsinterfaces`',
  }),
});
export type DnsSettings = ValuesOf<typeof dnsSettings>;
