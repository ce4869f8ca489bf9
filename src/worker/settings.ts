import { Type } from 'typebox';
import { parseIp } from '../core/ip.ts';
import { kind, ListenAddresses, Path, RemoteAddress, setting, type ValuesOf } from '../core/settings.ts';

const Interfaces = kind(
  'one or more names of network interfaces',
  Type.Array(Type.String({ pattern: /^[\w.@-]{1,15}$/ }), { minItems: 1 }),
);
const Addresses = kind(
  'one or more IPv4 addresses',
  Type.Array(
    Type.Refine(Type.String(), (text) => parseIp(text)?.family === 4),
    { minItems: 1 },
  ),
);

/** Section `worker`: where a worker may serve its nodes what a server wants it to. */
export const workerSettings = Type.Object({
  dhcpInterfaces: setting(Interfaces, 'network interfaces of a worker from which it relays DHCP requests of nodes', {
    defaultText: 'none: it relays none',
  }),
  dhcpServers: setting(Addresses, 'DHCP servers that a worker relays requests to', {
    defaultText: 'the site attribute `master`',
  }),
  dnsListen: setting(ListenAddresses, 'addresses and ports where the name server of a worker listens', {
    defaultText: 'none: it runs none',
  }),
  dnsDirectory: setting(
    Path,
    'directory for the configuration and the zones of the name server of a worker; the user that named runs as must be able to enter it, and only root to change it',
    {
      defaultText:
        "`muster-worker-NAME` in the package's directories for configuration and for zones; without root `DIR/bus/duties/NAME`",
    },
  ),
  syslogListen: setting(
    ListenAddresses,
    'addresses and ports where a worker receives log messages of nodes, by UDP and TCP',
    { defaultText: 'none: it receives none' },
  ),
  syslogServer: setting(RemoteAddress, 'where a worker sends log messages of nodes, by TCP', {
    defaultText: 'port 514 of the site attribute `master`',
  }),
});
export type WorkerSettings = ValuesOf<typeof workerSettings>;
