import { Type } from 'typebox';
import { rvitalsSeries } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { isSet, splitList } from './definitions.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

const text = Type.String();
const time = Type.String({ description: 'when it was read last' });

export const seriesReply = Type.Object({
  series: Type.Array(
    Type.Object({
      node: text,
      time: Type.Optional(time),
      problem: Type.Optional(Type.String({ description: 'why the last reading failed' })),
      times: Type.Optional(
        Type.Array(text, { description: 'when minutes and, until an hour ago, spans of ten minutes began' }),
      ),
      sensors: Type.Record(
        text,
        Type.Object({
          kind: Type.String({ description: 'temp, wattage or fanspeed' }),
          unit: Type.String({ description: 'C, Watts, RPM or %' }),
          value: Type.Number(),
          time,
          state: Type.Optional(Type.String({ description: 'the limit that it was beyond, as the BMC says it' })),
          limits: Type.Optional(
            Type.Object(
              {
                upperWarning: Type.Optional(Type.Number()),
                upperCritical: Type.Optional(Type.Number()),
                lowerWarning: Type.Optional(Type.Number()),
                lowerCritical: Type.Optional(Type.Number()),
              },
              {
                description:
                  'beyond which values something is wrong, as far as muster has read them from the BMC (IPMI)',
              },
            ),
          ),
          values: Type.Optional(
            Type.Array(Type.Union([Type.Number(), Type.Null()]), {
              description: 'one for each of times, null where nothing was read; of ten minutes the mean',
            }),
          ),
        }),
      ),
    }),
  ),
});

const shows = ['points', 'last', 'hottest'] as const;

function shownIn(value = 'points'): (typeof shows)[number] {
  const found = shows.find((each) => each === value);
  if (!found) throw new Fault('malformed', `show: "${value}" is none of ${shows.join(', ')}.`);
  return found;
}

const times = ['2026-11-15T09:04:00.000Z', '2026-11-15T09:05:00.000Z'];
const sensor = { kind: 'temp', unit: 'C', value: 41, time: '2026-11-15T09:05:20.000Z', values: [40, 41] };

export const series: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/series', {
    command: rvitalsSeries,
    reply: 'object',
    returns: seriesReply,
    only: '/muster',
    query: {
      kinds: 'only temp, wattage or fanspeed; several with commas',
      since:
        'only what was read since this time, such as 2026-11-15T09:05:00Z, or how long ago: 30m, 6h; without it the last day',
      show: 'points (the default); last: only the last value of each sensor; hottest: only the hottest temperature of each node, if it was read within 20 minutes',
      sample: '1: muster reads these nodes, at most 500, each minute for the next three minutes',
    },
    args: ({ params, query }) => ({
      range: params['noderange']!,
      kinds: splitList(query['kinds'] ?? ''),
      since: query['since'],
      show: shownIn(query['show']),
      sample: isSet('sample', query['sample'], '1') || undefined,
    }),
    summary: 'Temperatures, power draw and fans of nodes over the last day.',
    description:
      'muster keeps what anybody reads with GET /nodes/{noderange}/vitals, what it reads while somebody asks with sample=1, and what it reads of the nodes of the setting series.nodes. Who may run rvitals with these kinds on the nodes may see it. Nodes of which nothing is known are left out. A server knows what it has read itself, and forgets it when it ends.',
    example: {
      path: '/nodes/n1/series',
      query: { kinds: 'temp', since: '6h' },
      reply: { series: [{ node: 'n1', time: sensor.time, times, sensors: { 'CPU1 Temp': sensor } }] },
    },
  }),
];
