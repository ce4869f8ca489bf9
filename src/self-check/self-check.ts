import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { type Finding, wrongOf } from '../core/finding.ts';
import { checkBackups, checkDatabase, checkPermissions } from './data.ts';
import { checkDaemons, checkLoaders } from './daemons.ts';
import { checkDns } from './dns.ts';
import { checkDhcpNetworks, checkNetworks } from './networks.ts';
import { checkPorts } from './ports.ts';
import { checkCertificates, checkTime } from './times.ts';

export type Ground = Pick<Context, 'config' | 'store' | 'dns' | 'dhcp' | 'boot' | 'workers'>;
type Check = (ground: Ground) => Promise<readonly Finding[]> | readonly Finding[];

/** In the order in which people mend things: what comes first may be why the next is wrong. */
const checks: Readonly<Record<string, Check>> = {
  ports: checkPorts,
  certificate: checkCertificates,
  daemons: checkDaemons,
  permissions: checkPermissions,
  database: checkDatabase,
  backup: checkBackups,
  time: checkTime,
  loaders: checkLoaders,
  networks: checkNetworks,
  dns: checkDns,
  dhcp: checkDhcpNetworks,
};

/** A check that waits for a file system or a daemon must not hold up the others. */
const timeout = 20_000;
/** The whole database is read for it, so many who ask at once get the same answer. */
const keptFor = 5_000;

/** Looks at the server from the inside: what only this machine knows. */
export class SelfCheck {
  readonly #ground: () => Ground;
  #latest: Promise<readonly Finding[]> | undefined;

  constructor(ground: () => Ground) {
    this.#ground = ground;
  }

  /** Where the log of the server is, if it is in a file. */
  get logFile(): string | undefined {
    return this.#ground().config.logFile;
  }

  run(): Promise<readonly Finding[]> {
    if (this.#latest) return this.#latest;
    const latest = runAll(this.#ground());
    this.#latest = latest;
    void latest.then(() => setTimeout(() => (this.#latest = undefined), keptFor).unref());
    return latest;
  }
}

const runAll = async (ground: Ground): Promise<Finding[]> =>
  (await Promise.all(Object.entries(checks).map(([name, check]) => runOne(name, check, ground)))).flat();

async function runOne(name: string, check: Check, ground: Ground): Promise<readonly Finding[]> {
  const ended = new AbortController();
  const late = wait(timeout, undefined, { ref: false, signal: ended.signal }).then(
    () => [wrongOf(name, `no answer within ${timeout / 1_000} seconds; the log may say why`)],
    () => [],
  );
  try {
    return await Promise.race([Promise.resolve(check(ground)), late]);
  } catch (error) {
    return [wrongOf(name, `this could not be looked at: ${(error as Error).message}`)];
  } finally {
    ended.abort();
  }
}
