import { readFileSync } from 'node:fs';
import { Logins } from './access/logins.ts';
import { openData } from './access/open-data.ts';
import { Refusals } from './access/refusals.ts';
import type { Config } from './config.ts';
import { AddressGuard } from './core/address-guard.ts';
import { Metrics } from './core/metrics.ts';
import type { FileLock } from './core/file-lock.ts';
import { fileLimit } from './core/file-limit.ts';
import { createLog, type Logger } from './core/log.ts';
import { say } from './core/line-sink.ts';
import { lockDataDirectory } from './database/lock.ts';
import type { Store } from './database/store.ts';
import { Runs } from './dispatch/runs.ts';
import { Devices } from './drivers/devices.ts';
import { Discovery } from './drivers/discovery.ts';
import { Governor } from './drivers/governor.ts';
import { Hardware } from './drivers/hardware.ts';
import { makeDrivers } from './drivers/registry.ts';
import { dropInitialPassword, prepareFirstStart } from './first-start.ts';
import { accountsTurnedOver, sealer } from './objects/accounts.ts';
import { NodeCatalog } from './objects/catalog.ts';
import { Authenticator } from './rest/http/authenticate.ts';
import { BodyBudgets } from './rest/http/incoming-body.ts';
import { Concurrency, Connections } from './rest/http/connections.ts';
import { RequestMeters } from './rest/http/request-log.ts';
import type { RestServices } from './rest/endpoints/endpoint.ts';
import { BootServer } from './boot/boot-server.ts';
import { MachineDiscovery } from './boot/discovery/machines.ts';
import { discoveryRoute } from './boot/discovery/route.ts';
import { Switches } from './boot/discovery/switches.ts';
import { NetworkDiscovery } from './nodes/discovery/discovery.ts';
import { thisMachine } from './names/local-networks.ts';
import { openDhcp } from './names/dhcp/open-dhcp.ts';
import { Dns } from './names/dns/dns.ts';
import { EventHub } from './events/hub.ts';
import { Effects, nodeEffects } from './nodes/effects.ts';
import { Hooks } from './events/hooks/hooks.ts';
import { Hosts } from './names/hosts/hosts.ts';
import { Images } from './images/images.ts';
import { machineEffects } from './machines/effects.ts';
import { MachineWatch } from './machines/watch.ts';
import { LongWork } from './work/long-work.ts';
import { NodeProbes } from './nodes/node-probes.ts';
import { NodeStatus } from './nodes/node-status.ts';
import { openRemoteNodes, Remote, remoteHosts } from './nodes/remote/remote.ts';
import { RemovedNodes } from './nodes/removed-nodes.ts';
import { ServiceProcessorTrust } from './drivers/bmc/certificate-trust.ts';
import { openSshKeys, SshHostKeys } from './nodes/ssh-keys.ts';
import { placeStockScripts } from './nodes/update/postscripts.ts';
import { version } from './version.ts';

/** The one object that is handed to everything. */
export interface Context extends RestServices {
  readonly config: Config;
  readonly lock: FileLock;
  readonly status: NodeStatus;
  /** One for each driver whose nodes are virtual machines. */
  readonly machineWatches: readonly MachineWatch[];
  readonly events: EventHub;
  readonly hooks: Hooks;
  /** Aborted when the database is found damaged, with the Fault that says so. */
  readonly damage: AbortSignal;
}

/** Opens the data directory for this process alone and builds the service's parts on it. */
export async function openContext(config: Config): Promise<Context> {
  const { logFile: path, logFileSize: size, logFilesKept: kept } = config;
  const log = createLog(config.logLevel, path === undefined ? undefined : { path, size, kept });
  const lock = lockDataDirectory(config.data);
  const damage = new AbortController();
  let opened: Store | undefined;
  try {
    const { box, store, newlySealed } = await openData(config.data, {
      failed: (error) => log.error({ err: error }, 'what others have changed could not be read'),
      damaged(fault) {
        if (!damage.signal.aborted) log.fatal({ err: fault.cause }, fault.message);
        damage.abort(fault);
      },
    });
    opened = store;
    if (newlySealed.length > 0) log.warn(sealedNow(newlySealed));
    const seal = sealer(box);
    say(await prepareFirstStart(store, seal, config));
    await dropInitialPassword(config.data, store, log);
    const hosts = await openHosts(config, log);
    const machine = thisMachine(() => hosts.resolve());
    const keys = openSshKeys(config.data);
    const remote = new Remote(config.remote, { data: config.data, hosts, keys, box });
    const hostKeys = new SshHostKeys(store, config.remote.hostKeys);
    const nodes = openRemoteNodes(config.remote, keys, hostKeys);
    const { ca, networks } = config.hardware;
    const guard = new AddressGuard(networks);
    const certificates = new ServiceProcessorTrust(store, ca === undefined ? undefined : readFileSync(ca, 'utf8'));
    const powerTimeout = config.hardware.powerTimeout * 1_000;
    const driverOptions = { trust: certificates, guard, powerTimeout, hosts: remoteHosts(store, remote, nodes) };
    const drivers = makeDrivers(driverOptions, config.hardware);
    const dns = new Dns({ settings: config.dns, data: config.data, hostsFile: config.names.hostsFile, box, log });
    const dhcp = openDhcp(config.dhcp, { data: config.data, store, log, machine });
    const failed = (error: unknown): void => log.error({ err: error }, 'the status of nodes could not be written');
    const status = new NodeStatus(store, failed);
    const events = new EventHub(store, log);
    const images = new Images(config.images, { data: config.data, box, remote });
    const { postscripts } = remote;
    if (config.remote.postscripts === undefined) placeStockScripts(postscripts);
    const boot = new BootServer(config.boot, {
      data: config.data,
      store,
      log,
      images,
      status,
      hostKeys,
      dhcp,
      postscripts,
    });
    const switches = new Switches({ box, hosts, guard, log });
    const machines = new MachineDiscovery({
      store,
      dhcp,
      log,
      index: boot.index,
      switches,
      processorNetworks: networks,
    });
    const ramdisk = (arch: string) => boot.ramdisks.paths(arch);
    boot.routes.push(discoveryRoute({ machines, snapshot: () => store.current, ramdisk }));
    const runs = new Runs(undefined, undefined, events);
    let was = store.current;
    store.subscribe((current, sets) => {
      for (const account of accountsTurnedOver(was, current, sets)) runs.disown(account);
      was = current;
    });
    return {
      config,
      lock,
      damage: damage.signal,
      log,
      version,
      store,
      seal,
      catalog: new NodeCatalog(),
      ranges: { rangeFiles: config.rangeFiles },
      runs,
      hardware: new Hardware(drivers, box),
      workerServices: {
        devices: new Devices(drivers, new Governor()),
        remote: nodes,
        probes: new NodeProbes(new AddressGuard(config.remote.networks, 'node')),
      },
      effects: new Effects(
        {
          ...nodeEffects({
            store,
            status,
            certificates,
            hostKeys,
            events,
            expectBoot: (node) => boot.tokens.expectBoot(node),
          }),
          ...machineEffects({ store, audit: config.audit }),
        },
        status,
      ),
      discovery: new Discovery(guard),
      announcements: new NetworkDiscovery(config.discovery),
      hosts,
      dns,
      dhcp,
      machines,
      remote,
      images,
      boot,
      longWork: new LongWork(config.longWork, { data: config.data, log }),
      status,
      removedNodes: new RemovedNodes({ store, log, hosts, dns, dhcp }),
      machineWatches: [...drivers.values()].flatMap(({ name: mgt, hypervisors }) =>
        hypervisors ? new MachineWatch({ store, status, events, log, mgt, hypervisors }) : [],
      ),
      events,
      hooks: new Hooks(config.hooks, { store, events, box, log }),
      metrics: new Metrics(),
      exporterPort: config.metrics.exporterPort,
      meters: new RequestMeters(),
      audit: config.audit,
      authenticator: new Authenticator(store, new Logins(), config.socket.accounts),
      refusals: new Refusals(
        (record) => store.audit(record),
        (error) => log.error({ err: error }, 'a count of refused requests could not be written'),
      ),
      concurrency: new Concurrency(config.limits.maxConcurrentPerUser),
      connections: boundedConnections(config, log),
      bodies: new BodyBudgets(),
      limits: config.limits,
      xcatws: config.xcatws,
      http: config.http,
    };
  } catch (error) {
    await opened?.close();
    lock.release();
    throw error;
  }
}

const sealedNow = (names: readonly string[]): string =>
  `${names.join(', ')} ${names.length === 1 ? 'has the name of a secret: it is' : 'have names of secrets: they are'} encrypted now and shown as ********. ` +
  "Postscripts get one only where an image's environvar names it. Older backups have clear text: change these secrets.";

function boundedConnections({ limits: { maxConnectionsPerAddress: wanted } }: Config, log: Logger): Connections {
  const files = fileLimit();
  const connections = new Connections(wanted, files);
  const { most, mostOfOne } = connections;
  if (mostOfOne < wanted) {
    log.warn(
      `This process may open ${files} files, so it takes at most ${most} connections, and ${mostOfOne} instead of ${wanted} of one address; raise the limit (LimitNOFILE= of a systemd unit, ulimit -n) for more.`,
    );
  }
  return connections;
}

async function openHosts({ names, data }: Config, log: Logger): Promise<Hosts> {
  const hosts = new Hosts(names, data);
  await hosts.finishInterrupted().catch((error: unknown) => log.error({ err: error }, 'the hosts file is incomplete'));
  return hosts;
}

export async function closeContext(context: Context): Promise<void> {
  const { workerServices, discovery, dns, dhcp, boot } = context;
  context.announcements.close();
  for (const watch of context.machineWatches) watch.close();
  await context.removedNodes.close();
  await Promise.all(
    [boot, workerServices.devices, discovery, dns, dhcp, workerServices.remote].map((part) => part.close()),
  );
  await Promise.all([context.status.flush(), context.refusals.close()]);
  await context.store.close();
  context.lock.release();
}
