import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { busPlaces } from './bus/index.ts';
import type { Config } from './config.ts';
import type { Logger } from './core/log.ts';
import {
  type Credentials,
  endsSoon,
  ensureCertificates,
  loadCredentials,
  localNames,
} from './rest/http/certificates.ts';

const hour = 3_600_000;
const day = 24 * hour;

type OwnConfig = Pick<Config, 'data' | 'tls' | 'listen'>;

/** Makes the certificate of this server or renews it, unless settings name one. */
export function ensureOwnCertificate({ data, listen }: OwnConfig): ReturnType<typeof ensureCertificates> {
  return ensureCertificates(data, [...new Set([...localNames(), ...listen.map(({ host }) => host)])]);
}

interface Followed {
  readonly config: OwnConfig;
  readonly log: Logger;
  /** Has connections from now on see the certificate. */
  show(credentials: Credentials): void;
}

/** Milliseconds between two looks at when certificates end. */
interface Times {
  readonly look: number;
}

interface FollowedCertificates {
  /** Shows the one that is in the files now; if it is broken, nothing changes. */
  reload(): void;
  /** Waits for a renewal that has begun. */
  close(): Promise<void>;
}

/** Renews a certificate that muster has made before it ends, and shows the new one. */
export function followCertificates(
  { config, log, show }: Followed,
  { look }: Times = { look: hour },
): FollowedCertificates {
  const reload = (): void => {
    try {
      show(loadCredentials(config));
      log.info('the certificate was reloaded');
    } catch (error) {
      log.error({ err: error }, 'the certificate could not be reloaded; the old one stays in use');
    }
  };
  const renew = async (): Promise<void> => {
    if (config.tls) return;
    const { issued, created, ca } = await ensureOwnCertificate(config);
    if (!issued) return;
    log.info('the certificate of this server was renewed');
    if (created)
      log.warn(`The certificate authority has come to its end, and a new one was made. Give clients the file ${ca}.`);
    reload();
  };
  const ofBus = new BusCertificate(config.data, log);
  let renewal: Promise<void> | undefined;
  const timer = setInterval(() => {
    renewal ??= renew()
      .catch((error: unknown) => log.error({ err: error }, 'the certificate of this server could not be renewed'))
      .finally(() => (renewal = undefined));
    ofBus.look();
  }, look).unref();
  return {
    reload,
    async close() {
      clearInterval(timer);
      await renewal;
    },
  };
}

/** The certificate of NATS is used on other machines, so only people can renew it. */
class BusCertificate {
  readonly #file: string;
  readonly #log: Logger;
  #warned: number | undefined;

  constructor(data: string, log: Logger) {
    this.#file = busPlaces(data).certificate;
    this.#log = log;
  }

  look(): void {
    const found = readCertificate(this.#file);
    if (!found || !endsSoon(found)) return;
    if (this.#warned !== undefined && performance.now() - this.#warned < day) return;
    this.#warned = performance.now();
    this.#log.warn(
      `The certificate of NATS, ${this.#file}, is valid until ${found.validToDate.toISOString().slice(0, 10)}. Run muster bus-config again, and copy the new file to NATS and to the other servers.`,
    );
  }
}

function readCertificate(file: string): X509Certificate | undefined {
  try {
    return new X509Certificate(readFileSync(file));
  } catch {
    // Most servers have none.
    return undefined;
  }
}
