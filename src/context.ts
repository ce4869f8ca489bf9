import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logins } from './access/logins.ts';
import { SecretBox } from './access/secrets.ts';
import type { Config } from './config.ts';
import { AddressGuard } from './core/address-guard.ts';
import { Fault } from './core/errors.ts';
import { createLog, type Logger } from './core/log.ts';
import { type DataLock, lockDataDirectory } from './database/lock.ts';
import { SqliteDatabase } from './database/sqlite/sqlite.ts';
import { Store } from './database/store.ts';
import { Runs } from './dispatch/runs.ts';
import { Discovery } from './drivers/discovery.ts';
import { Governor } from './drivers/governor.ts';
import { Hardware } from './drivers/hardware.ts';
import type { DriverOptions } from './drivers/options.ts';
import { makeDrivers } from './drivers/registry.ts';
import { prepareFirstStart } from './first-start.ts';
import { sealer } from './objects/accounts.ts';
import { NodeCatalog } from './objects/catalog.ts';
import { Authenticator } from './rest/authenticate.ts';
import { Concurrency } from './rest/concurrency.ts';
import type { RestServices } from './rest/service.ts';
import { NetworkDiscovery } from './services/discovery/discovery.ts';
import { thisMachine } from './services/dhcp/machine.ts';
import { openDhcp } from './services/dhcp/open-dhcp.ts';
import { Dns } from './services/dns/dns.ts';
import { Hosts } from './services/hosts/hosts.ts';
import { NodeProbes } from './services/node-probes.ts';
import { NodeStatus } from './services/node-status.ts';
import { Remote } from './services/remote/remote.ts';
import { ServiceProcessorTrust } from './services/service-processor-trust.ts';
import { version } from './version.ts';

/** The one object that is handed to everything. */
export interface Context extends RestServices {
  readonly config: Config;
  readonly lock: DataLock;
}

export const databaseFile = (data: string): string => join(data, 'muster.sqlite');
export const secretKeyFile = (data: string): string => join(data, 'secret.key');

/** Opens the data directory for this process alone and builds the service's parts on it. */
export async function openContext(config: Config): Promise<Context> {
  const log = createLog(config.logLevel);
  const lock = lockDataDirectory(config.data);
  try {
    if (existsSync(databaseFile(config.data)) && !existsSync(secretKeyFile(config.data))) {
      throw new Fault(
        'unavailable',
        `${secretKeyFile(config.data)} is missing: without it the secrets in the database cannot be read. Put it back from a backup.`,
      );
    }
    const box = SecretBox.open(secretKeyFile(config.data));
    const store = await Store.open(await SqliteDatabase.open(databaseFile(config.data)), (error) =>
      log.error({ err: error }, 'what others have changed could not be read'),
    );
    const seal = sealer(box);
    const guard = new AddressGuard(config.hardware.networks);
    await prepareFirstStart(store, seal, config);
    const hosts = await openHosts(config, log);
    const machine = thisMachine(() => hosts.resolve());
    return {
      config,
      lock,
      log,
      version,
      store,
      seal,
      catalog: new NodeCatalog(),
      ranges: { rangeFiles: config.rangeFiles },
      runs: new Runs(),
      hardware: new Hardware(makeDrivers(driverOptions(store, config)), new Governor(), box, guard),
      discovery: new Discovery(guard),
      announcements: new NetworkDiscovery(config.discovery),
      hosts,
      dns: new Dns({ settings: config.dns, data: config.data, hostsFile: config.names.hostsFile, box, log }),
      dhcp: openDhcp(config.dhcp, { data: config.data, store, log, machine }),
      probes: new NodeProbes(new AddressGuard(config.remote.networks, 'node')),
      remote: new Remote(config.remote, { data: config.data, store, hosts }),
      status: new NodeStatus(store, (error) => log.error({ err: error }, 'the status of nodes could not be written')),
      audit: config.audit,
      authenticator: new Authenticator(store, new Logins()),
      concurrency: new Concurrency(config.limits.maxConcurrentPerUser),
      limits: config.limits,
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function openHosts({ names }: Config, log: Logger): Promise<Hosts> {
  const hosts = new Hosts(names);
  await hosts.finishInterrupted().catch((error: unknown) => log.error({ err: error }, 'the hosts file is incomplete'));
  return hosts;
}

function driverOptions(store: Store, { hardware: { powerDeadline, ca, ipmiSuites } }: Config): DriverOptions {
  const authority = ca === undefined ? undefined : readFileSync(ca, 'utf8');
  return { powerDeadline: powerDeadline * 1_000, ipmiSuites, trust: new ServiceProcessorTrust(store, authority) };
}

export async function closeContext({
  store,
  lock,
  hardware,
  discovery,
  announcements,
  dns,
  dhcp,
  remote,
  status,
}: Context): Promise<void> {
  announcements.close();
  await Promise.all([hardware.close(), discovery.close(), dns.close(), dhcp.close(), remote.close()]);
  await status.flush();
  await store.close();
  lock.release();
}
