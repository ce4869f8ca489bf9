import type { Client } from '../client.ts';
import { Refused } from '../errors.ts';

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What the server counts about itself, by name. */
export type ServerMetrics = ReadonlyMap<string, readonly Sample[]>;

/** Undefined for callers who may not read them. */
export async function readMetrics(client: Client): Promise<ServerMetrics | undefined> {
  try {
    return metricsIn(await client.text('/metrics'));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return undefined;
  }
}

function metricsIn(text: string): ServerMetrics {
  const found = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const sample = { labels: labelsIn(labels), value: Number(value) };
    const samples = found.get(name);
    if (samples) samples.push(sample);
    else found.set(name, [sample]);
  }
  return found;
}

const labelsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter)),
    ]),
  );

interface Disk {
  /** Such as "data (/var/lib/muster)". */
  readonly place: string;
  readonly free: number;
  readonly size: number;
}

/** The file systems that the server writes to. */
export function disksIn(metrics: ServerMetrics): Disk[] {
  const nameOf = ({ labels: { place = '', path = '' } }: Sample): string => `${place} (${path})`;
  const free = new Map((metrics.get('muster_disk_free_bytes') ?? []).map((each) => [nameOf(each), each.value]));
  return (metrics.get('muster_disk_size_bytes') ?? []).map((each) => ({
    place: nameOf(each),
    free: free.get(nameOf(each)) ?? 0,
    size: each.value,
  }));
}

export const amount = (bytes: number): string =>
  bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
