import { Type } from 'typebox';
import { Count, setting } from '../../core/settings.ts';

export const metricSettings = Type.Object({
  exporterPort: setting(Count, 'port of the exporter on nodes that `GET /sd` gives Prometheus', { default: 9100 }),
});
