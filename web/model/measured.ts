// What the grid shows besides attributes: read while somebody looks at it.
import { get, inPath } from '../api/client.ts';
import type { NodeSeries } from '../api/types.ts';
import type { ClusterNode } from './cluster-node.ts';
import { cluster, merge, rangesOf } from './cluster.ts';

/** What can be read so, with the milliseconds between two readings. */
export const measured = { temperature: 60_000, bootstep: 30_000 } as const;
export type Measured = keyof typeof measured;
export const isMeasured = (by: string): by is Measured => Object.hasOwn(measured, by);

/** Of a large cluster it is read less often. */
const large = 2_000;

type Reading = (
  range: string,
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, ClusterNode['temperature'] | string>>;

const readTemperatures: Reading = async (range, signal) => {
  const path = `/nodes/${inPath(range)}/series?kinds=temp&show=hottest`;
  const { series } = await get<{ series: readonly NodeSeries[] }>(path, signal);
  return new Map(
    series.flatMap(({ node, sensors }) =>
      Object.entries(sensors).map(
        ([sensor, { value, state }]) => [node, { sensor, value, isBeyond: state !== undefined }] as const,
      ),
    ),
  );
};

const readBootSteps: Reading = async (range, signal) => {
  const reply = await get<Readonly<Record<string, { readonly step?: string }>>>(`/nodes/${inPath(range)}/boot`, signal);
  return new Map(Object.entries(reply).flatMap(([name, { step }]) => (step ? [[name, step] as const] : [])));
};

/** Reads it now and then until the signal; `failed` hears what went wrong, and undefined when it goes well. */
export function follow(by: Measured, failed: (problem: string | undefined) => void, signal: AbortSignal): void {
  const again = async (): Promise<void> => {
    const names = cluster.value.nodes.map(({ name }) => name);
    try {
      if (!document.hidden && names.length > 0) {
        const read = by === 'temperature' ? readTemperatures : readBootSteps;
        const replies = await Promise.all(rangesOf(names).map((range) => read(range, signal)));
        const found = new Map(replies.flatMap((reply) => [...reply]));
        merge(new Set(names), by === 'temperature' ? 'temperature' : 'bootStep', found);
      }
      failed(undefined);
    } catch (error) {
      if (signal.aborted) return;
      failed((error as Error).message);
    }
    if (!signal.aborted)
      setTimeout(() => signal.aborted || void again(), measured[by] * (names.length > large ? 4 : 1));
  };
  void again();
}
