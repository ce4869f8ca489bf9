/** One number with its labels. `name` has the suffix of histograms' parts. */
export interface Sample {
  readonly suffix?: '_bucket' | '_sum' | '_count';
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All numbers of one name, as Prometheus takes them. */
export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: Iterable<Sample>;
}

/** Whoever counts something reports it here when it is asked for. */
export class Metrics {
  readonly #sources: (() => Iterable<Metric>)[] = [];

  add(source: () => Iterable<Metric>): void {
    this.#sources.push(source);
  }

  /** In the text format of Prometheus, version 0.0.4. */
  text(): string {
    let text = '';
    for (const source of this.#sources) for (const metric of source()) text += metricText(metric);
    return text;
  }
}

function metricText({ name, type, help, samples }: Metric): string {
  let text = `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
  for (const { suffix = '', labels, value } of samples) text += `${name}${suffix}${labelText(labels)} ${value}\n`;
  return text;
}

function labelText(labels: Readonly<Record<string, string>> | undefined): string {
  if (!labels) return '';
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** A single number. */
export const single = (type: 'counter' | 'gauge', name: string, help: string, value: number): Metric => ({
  name,
  type,
  help,
  samples: [{ value }],
});
