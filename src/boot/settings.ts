import { Count, ListenAddresses, oneOf, Path, setting, type ValuesOf } from '../core/settings.ts';
import { Type } from 'typebox';

export const bootSettings = Type.Object({
  listen: setting(ListenAddresses, 'where booting machines fetch files by HTTP; port 80 where DHCP sends them here', {
    defaultText: 'off',
  }),
  tftpListen: setting(ListenAddresses, 'where firmware fetches files by TFTP; its port is 69', { defaultText: 'off' }),
  files: setting(
    oneOf('muster', 'nginx'),
    'who sends files by HTTP; nginx, which muster then starts, sends large images at a fraction of the cost',
    { default: 'muster' },
  ),
  directory: setting(Path, 'boot loaders of the site, which take precedence over those of packages', {
    defaultText: 'none',
  }),
  maxConnectionsPerAddress: setting(Count, 'HTTP connections that one address may have open', { default: 32 }),
  tokenLifetime: setting(Count, 'seconds after which the token of a boot expires', { default: 14_400 }),
  newBoots: setting(
    oneOf('shown', 'assumed'),
    'when a node that has booted gets a token again: `shown`, after nodeset, rpower or an IPv4 address that DHCP of muster gave its firmware, or `assumed`, whenever its script is fetched, which any user of the node can do; IPv6 addresses always count as `assumed`',
    { default: 'shown' },
  ),
  atOnce: setting(Count, 'nodes that `provision` boots at the same time; others wait', { default: 256 }),
  timeout: setting(Count, 'seconds within which a node that is provisioned must boot', {
    default: 3_600,
    formerly: { name: 'boot.deadline', variable: 'MUSTER_BOOT_DEADLINE' },
  }),
});
export type BootSettings = ValuesOf<typeof bootSettings>;
