import { Type } from 'typebox';
import { Count, kind, setting, type ValuesOf } from '../../core/settings.ts';

export const seriesSettings = Type.Object({
  nodes: setting(
    kind('a noderange', Type.String({ minLength: 1 })),
    'noderange of the nodes whose temperatures, power draw and fans are read all the time, for series',
    { defaultText: 'none: only while somebody looks at a node' },
  ),
  seconds: setting(Count, 'seconds between two readings of the nodes of `series.nodes`; at least 60', { default: 300 }),
  megabytes: setting(
    Count,
    'megabytes of memory that series may take; a sensor takes one kilobyte, so 128 are enough for 13 sensors of each of 10,000 nodes',
    { default: 128 },
  ),
});
export type SeriesSettings = ValuesOf<typeof seriesSettings>;
