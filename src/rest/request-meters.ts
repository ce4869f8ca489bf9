import type { Metric, Sample } from '../core/metrics.ts';

/** Upper bounds of the buckets, in milliseconds. */
const bounds = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000, 60_000];

/** Counts the requests of one row. It is asked for every request, so it does next to nothing. */
export class RequestMeter {
  readonly #statuses = new Map<number, { count: number }>();
  /** Most requests end as the one before. */
  #status = 0;
  #counted = { count: 0 };
  readonly #buckets = new Float64Array(bounds.length + 1);
  #milliseconds = 0;

  count(status: number, milliseconds: number): void {
    if (status !== this.#status) this.#change(status);
    this.#counted.count++;
    this.#milliseconds += milliseconds;
    let bucket = 0;
    while (bucket < bounds.length && milliseconds > bounds[bucket]!) bucket++;
    this.#buckets[bucket]!++;
  }

  #change(status: number): void {
    let counted = this.#statuses.get(status);
    if (!counted) this.#statuses.set(status, (counted = { count: 0 }));
    this.#status = status;
    this.#counted = counted;
  }

  get isUsed(): boolean {
    return this.#statuses.size > 0;
  }

  *counts(labels: Readonly<Record<string, string>>): Iterable<Sample> {
    for (const [status, { count }] of this.#statuses)
      yield { labels: { ...labels, status: String(status) }, value: count };
  }

  *latencies(labels: Readonly<Record<string, string>>): Iterable<Sample> {
    let sum = 0;
    for (const [i, count] of this.#buckets.entries()) {
      sum += count;
      const le = i < bounds.length ? String(bounds[i]! / 1_000) : '+Inf';
      yield { suffix: '_bucket', labels: { ...labels, le }, value: sum };
    }
    yield { suffix: '_sum', labels, value: this.#milliseconds / 1_000 };
    yield { suffix: '_count', labels, value: sum };
  }
}

/** The meters of all rows; servers on several addresses share them. */
export class RequestMeters {
  readonly #meters = new Map<
    string,
    { readonly labels: Readonly<Record<string, string>>; readonly meter: RequestMeter }
  >();

  of(root: string, method: string, path: string): RequestMeter {
    const key = `${root} ${method} ${path}`;
    let known = this.#meters.get(key);
    if (!known) this.#meters.set(key, (known = { labels: { root, method, path }, meter: new RequestMeter() }));
    return known.meter;
  }

  *metrics(): Iterable<Metric> {
    const used = [...this.#meters.values()].filter(({ meter }) => meter.isUsed);
    yield {
      name: 'muster_http_requests_total',
      type: 'counter',
      help: 'Requests by row of the interface and status; the path "none" is what no row offers.',
      samples: used.flatMap(({ meter, labels }) => [...meter.counts(labels)]),
    };
    yield {
      name: 'muster_http_request_duration_seconds',
      type: 'histogram',
      help: 'Seconds from a request to the end of its reply.',
      samples: used.flatMap(({ meter, labels }) => [...meter.latencies(labels)]),
    };
  }
}
