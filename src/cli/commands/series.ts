import { path } from '../client.ts';
import { musterCommand } from '../command.ts';
import { writeData } from '../formats.ts';
import { filled, flag } from '../options.ts';
import { oneLine } from '../output.ts';
import { localTime, withLocalTimes } from '../times.ts';

interface Sensor {
  readonly kind: string;
  readonly unit: string;
  readonly value: number;
  readonly time: string;
  readonly state?: string;
  readonly values?: readonly (number | null)[];
}

interface NodeSeries {
  readonly node: string;
  readonly problem?: string;
  readonly times?: readonly string[];
  readonly sensors: Readonly<Record<string, Sensor>>;
}

export const series = musterCommand({
  usage: `Usage: muster series NODERANGE [temp] [wattage] [fanspeed] [--since TIME] [--sample]

Shows what temperatures, power draw and fans of nodes were over the last day, as far as somebody read them: the last value of each sensor,
and between what values it was. It asks no BMC. The exit status is 1 if nothing is known.`,
  options: {
    since: filled('TIME', 'only since then: 30m, 6h ago, or a time such as 2026-11-15T09:05:00Z'),
    sample: flag('have muster read these nodes each minute for the next three'),
  },
  operands: [1, 4, 'Name one noderange; separate nodes by commas.'],
  common: ['format', 'curl'],
  async run(invocation, { operands, value, flag: isSet, common }) {
    const [range = '', ...kinds] = operands;
    const { client, stdout, stderr } = invocation;
    const query = {
      kinds: kinds.length === 0 ? undefined : kinds.join(','),
      since: value('since'),
      sample: isSet('sample') ? '1' : undefined,
    };
    const { series: found } = (await client.get(path('nodes', range, 'series'), { query })) as { series: NodeSeries[] };
    const results = found.flatMap(({ node, times = [], sensors }) =>
      Object.entries(sensors).map(([sensor, { values = [], ...last }]) => ({
        node,
        sensor,
        ...last,
        ...boundsOf(times, values),
      })),
    );
    if (common.format) await writeData(invocation, common.format, results);
    else
      for (const { node, sensor, value: now, unit, state, time, since, lowest, highest } of results) {
        const limit = state === undefined ? '' : `, ${oneLine(state)}`;
        const span = since === undefined ? '' : `; ${lowest} to ${highest} ${unit} since ${localTime(since)}`;
        await stdout.line(`${node}: ${oneLine(sensor)}: ${now} ${unit}${limit} at ${localTime(time)}${span}`);
      }
    for (const { node, problem } of found)
      if (problem !== undefined)
        stderr.line(`muster series: ${node}: the last reading failed: ${withLocalTimes(oneLine(problem))}`);
    if (results.length > 0) return 0;
    stderr.line(
      'muster series: Nothing is known of these nodes yet. Read their sensors with rvitals, or use --sample.',
    );
    return 1;
  },
});

function boundsOf(times: readonly string[], values: readonly (number | null)[]) {
  const known = values.filter((value) => value !== null);
  const first = times[values.findIndex((value) => value !== null)];
  if (first === undefined) return {};
  return { since: first, lowest: Math.min(...known), highest: Math.max(...known) };
}
