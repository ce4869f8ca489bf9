import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { Metric, Sample } from '../../core/metrics.ts';
import { shortened } from '../../dispatch/audit.ts';
import { hidden, isSecretName, secretIn, sentenceWithoutSecrets, withoutSecrets } from '../../objects/secret-names.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';

/** Refuses a path that gives a secret away: paths are kept in logs and histories, and commands repeat what they cannot use. */
export function refuseSecrets({ secretsInPath }: Endpoint, params: Readonly<Record<string, string>>): void {
  if (secretsInPath) return;
  for (const name in params) {
    const found = secretIn(params[name]!);
    if (found) throw new Fault('invalid', sentence(found.name.slice(-64)));
  }
}

const sentence = (name: string): string =>
  `The path gives a value for ${name}, which is secret: it can neither select objects nor stand in a path; give it in the body of a PUT or POST.`;

const longestPath = 200;

/** The path of an address for sentences, up to a secret that may stand in it, as `password=...` or as the segment behind one. */
export function shownPath(url: string): string {
  const path = url.split('?', 1)[0]!;
  const plain = path.replaceAll(/%([2-7][\da-f])/gi, (_, code: string) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  );
  const shown = withoutSegments(withoutSecrets(plain));
  return (shown === plain ? path : shown).slice(0, longestPath);
}

function withoutSegments(path: string): string {
  const segments = path.split('/');
  // Tables are named there, of which some hold secrets.
  const names = segments.findIndex((segment, i) => segments[i - 1] !== 'tables' && isSecretName(segment));
  if (names < 0 || segments.slice(names + 1).join('') === '') return path;
  return [...segments.slice(0, names + 1), hidden].join('/');
}

/** A request as the parts of this floor see it. */
export interface HttpRequest {
  readonly id: string;
  readonly raw: IncomingMessage;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The address of the client, also behind proxies. */
  readonly ip: string;
  /** The path it was found at, with `:name` for segments; undefined if there is nothing there. */
  readonly path: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** When it came, as `performance.now()` says. */
  readonly began: number;
}

/** What is known of a request when its reply is on its way. */
export interface Answered {
  readonly user?: string | undefined;
  readonly command?: string;
  /** The nodes or objects that the path names, without secrets. */
  range?(): string;
  readonly run?: string | number | undefined;
  /** Nodes that the command failed on, in a reply that is no error. */
  readonly failed?: number;
  readonly fault?: Fault;
}

const longestSentence = 512;

const levelOf = ({ method }: HttpRequest, { fault, failed = 0 }: Answered): 'debug' | 'info' =>
  (method === 'GET' || method === 'HEAD') && !fault && failed === 0 ? 'debug' : 'info';

export const isLogged = (log: Logger, request: HttpRequest, answered: Answered): boolean =>
  log.isLevelEnabled(levelOf(request, answered));

/** One line for every request that was refused, failed or may have changed something; readings only where one debugs. */
export function logRequest(log: Logger, request: HttpRequest, response: ServerResponse, answered: Answered): void {
  const { fault, user, command, run, failed = 0 } = answered;
  const level = levelOf(request, answered);
  const range = answered.range?.() ?? '';
  log[level](
    {
      request: request.id,
      client: request.ip,
      user: user === undefined ? undefined : withoutSecrets(user),
      method: request.method,
      // Which path it is; of what stands in its other segments, as in those of rows of tables, anything may be a secret.
      path: request.path ?? shownPath(request.url),
      range: range === '' ? undefined : shortened(range),
      status: response.statusCode,
      command,
      run,
      failed: failed > 0 ? failed : undefined,
      milliseconds: Math.round(performance.now() - request.began),
    },
    fault ? sentenceWithoutSecrets(fault.message).slice(0, longestSentence) : 'answered',
  );
}

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
