import { Count, ListenAddresses, oneOf, Path, setting, type ValuesOf } from '../../core/settings.ts';
import { Type } from 'typebox';

export const bootSettings = Type.Object({
  listen: setting(ListenAddresses, 'where machines that boot fetch files by HTTP; port 80 where DHCP tells them so', {
    defaultText: 'off',
  }),
  tftpListen: setting(ListenAddresses, 'where firmware fetches files by TFTP; its port is 69', { defaultText: 'off' }),
  files: setting(
    oneOf('muster', 'nginx'),
    'who sends files by HTTP; nginx, which muster then starts, sends large images at a fraction of the cost',
    { default: 'muster' },
  ),
  directory: setting(Path, 'loaders of the site, which win over those of packages', { defaultText: 'none' }),
  maxConnectionsPerAddress: setting(Count, 'connections by HTTP that one address may have open', { default: 32 }),
  tokenLifetime: setting(Count, 'seconds after which the token of a boot is worth nothing', { default: 14_400 }),
});
export type BootSettings = ValuesOf<typeof bootSettings>;
