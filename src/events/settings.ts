import { Type } from 'typebox';
import { Count, Networks, Path, setting, type ValuesOf } from '../core/settings.ts';

export const metricSettings = Type.Object({
  exporterPort: setting(Count, 'port of the exporter on nodes that `GET /sd` gives Prometheus', { default: 9100 }),
});

export const hookSettings = Type.Object({
  directory: setting(Path, 'directory of programs that the table `hooks` can name', {
    defaultText: 'none: hooks cannot run programs',
  }),
  networks: setting(Networks, 'networks that hooks may send events to', {
    defaultText: 'all except this machine and link-local addresses',
  }),
  ca: setting(Path, 'PEM file with one more certificate authority to trust for receivers of hooks', {
    defaultText: 'none',
  }),
  seconds: setting(Count, 'seconds that a receiver or program may take for one delivery', { default: 10 }),
});
export type HookSettings = ValuesOf<typeof hookSettings>;
