import { Type } from 'typebox';
import { Count, Networks, Path, setting, type ValuesOf } from '../core/settings.ts';

export const metricSettings = Type.Object({
  exporterPort: setting(Count, 'port of the exporter on nodes that `GET /sd` gives Prometheus', { default: 9100 }),
});

export const hookSettings = Type.Object({
  directory: setting(Path, 'directory of the programs that table `hooks` may name', {
    defaultText: 'none: it may name none',
  }),
  networks: setting(Networks, 'networks that events may be pushed to', {
    defaultText: 'any that are not on this machine or its link',
  }),
  ca: setting(
    Path,
    'PEM file of a certificate authority that signs the certificates of receivers, besides the known ones',
    {
      defaultText: 'none',
    },
  ),
  seconds: setting(Count, 'seconds that a receiver or program may take for one push', { default: 10 }),
});
export type HookSettings = ValuesOf<typeof hookSettings>;
