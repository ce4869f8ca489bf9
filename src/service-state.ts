import { X509Certificate } from 'node:crypto';
import type { Context } from './context.ts';
import type { Metric, Sample } from './core/metrics.ts';
import { loadCredentials } from './rest/http/certificates.ts';

const lookEvery = 10_000;

/** Whether the daemons that muster configures answer. They are asked now and then, since one that hangs may take long to answer. */
export class ServiceState {
  readonly #context: Context;
  readonly #timer: NodeJS.Timeout;
  #found: ReadonlyMap<string, boolean> = new Map();
  #isLooking = false;

  constructor(context: Context) {
    this.#context = context;
    void this.#look();
    this.#timer = setInterval(() => void this.#look(), lookEvery).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  *metrics(): Iterable<Metric> {
    yield {
      name: 'muster_service_up',
      type: 'gauge',
      help: '1 if the service answers, 0 if it does not; services that are not set up here are absent.',
      samples: [...this.#found].map(([service, isUp]) => ({ labels: { service }, value: Number(isUp) })),
    };
    yield {
      name: 'muster_certificate_end_seconds',
      type: 'gauge',
      help: 'When the certificate of this server ends, in seconds since 1970.',
      samples: this.#certificateEnd(),
    };
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { dns, dhcp, boot } = this.#context;
    const answers: [string, boolean | undefined][] = [
      ['boot', boot.isServed || undefined],
      ['dhcp', await dhcp.isServing().catch(() => false)],
      ['dns', await dns.isServing().catch(() => false)],
    ];
    this.#found = new Map(answers.filter((pair): pair is [string, boolean] => pair[1] !== undefined));
    this.#isLooking = false;
  }

  #certificateEnd(): Sample[] {
    try {
      const { validToDate } = new X509Certificate(loadCredentials(this.#context.config).cert);
      return [{ value: validToDate.getTime() / 1_000 }];
    } catch {
      // Files that are replaced at this moment; the log names those that cannot be used.
      return [];
    }
  }
}
