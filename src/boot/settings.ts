import { Count, ListenAddresses, oneOf, Path, setting, type ValuesOf } from '../core/settings.ts';
import { Type } from 'typebox';

export const bootSettings = Type.Object({
  listen: setting(
    ListenAddresses,
    "addresses and ports where booting machines fetch files by HTTP; muster's DHCP sends them to the port of the site attribute `httpport`, 80 if that is not set",
    {
      defaultText: 'off',
    },
  ),
  mediaListen: setting(
    ListenAddresses,
    'addresses and ports where BMCs fetch virtual media by HTTPS, with the certificate of this server; without it they use `boot.listen`',
    { defaultText: 'off' },
  ),
  tftpListen: setting(
    ListenAddresses,
    'addresses and ports where firmware fetches files by TFTP; the usual port is 69',
    { defaultText: 'off' },
  ),
  files: setting(
    oneOf('muster', 'nginx'),
    'program that sends boot files by HTTP; with nginx, which muster starts, large images cost far less CPU time',
    { default: 'muster' },
  ),
  directory: setting(Path, 'directory with your own boot loaders, used before those of packages', {
    defaultText: 'none',
  }),
  maxConnectionsPerAddress: setting(Count, 'open HTTP connections allowed from one booting machine', { default: 32 }),
  tokenLifetime: setting(Count, 'seconds after which the token of a boot expires', { default: 14_400 }),
  newBoots: setting(
    oneOf('shown', 'assumed'),
    "when a node that has booted gets a new boot token: `shown`, after nodeset, rpower or an IPv4 lease that muster's DHCP gave its firmware; `assumed`, whenever its script is fetched, which any user of the node can do; with IPv6 it is always `assumed`",
    { default: 'shown' },
  ),
  overlaySeconds: setting(
    Count,
    'seconds between two rounds in which muster brings nodes with the status `booted` the files of their overlays by SSH',
    { defaultText: 'off; `muster overlay send` does it once' },
  ),
  atOnce: setting(Count, 'nodes that `rinstall` and `provision` boot at the same time; the others wait', {
    default: 256,
  }),
  timeout: setting(Count, 'seconds within which a node that is provisioned must boot', {
    default: 3_600,
    formerly: { name: 'boot.deadline', variable: 'MUSTER_BOOT_DEADLINE' },
  }),
});
export type BootSettings = ValuesOf<typeof bootSettings>;
