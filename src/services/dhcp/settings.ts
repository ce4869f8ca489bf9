import { Type } from 'typebox';
import { kind, oneOf, Path, setting, type ValuesOf } from '../../core/settings.ts';

const PostgresUrl = kind(
  'a URL postgresql://user:password@host:port/name',
  Type.Refine(Type.String(), (text) => /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? '')),
);
const ScriptUrl = kind(
  'a URL without blanks, quotes and commas, such as http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
  Type.String({ pattern: /^(https?|tftp):\/\/[!#-+\--[\]-~]+$/ }),
);

export const dhcpSettings = Type.Object({
  daemon: setting(
    oneOf('auto', 'systemd', 'process', 'none'),
    'who runs Kea; `process` is muster itself, `none` somebody else',
    { default: 'auto' },
  ),
  directory: setting(Path, 'for configuration, control sockets and leases of Kea', {
    defaultText: 'where the package has them, or `DIR/dhcp`',
  }),
  hostsDatabase: setting(PostgresUrl, "`postgresql://...` of Kea's own tables, where it reads reservations", {
    secret: true,
    defaultText: "none: they stand in Kea's configuration",
  }),
  bootScript: setting(ScriptUrl, 'script that iPXE loads; SERVER becomes the address of the server', {
    secret: true,
    default: 'http://SERVER/boot/${netX/mac:hexhyp}.ipxe',
  }),
});
export type DhcpSettings = ValuesOf<typeof dhcpSettings>;
