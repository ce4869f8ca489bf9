import { Logins } from './access/logins.ts';
import { openData } from './access/open-data.ts';
import { Refusals } from './access/refusals.ts';
import type { Config } from './config.ts';
import { Metrics } from './core/metrics.ts';
import type { FileLock } from './core/file-lock.ts';
import { fileLimit } from './core/file-limit.ts';
import { createLog, type Logger } from './core/log.ts';
import { say } from './core/line-sink.ts';
import { lockDataDirectory } from './database/lock.ts';
import type { Store } from './database/store.ts';
import { Runs } from './dispatch/runs.ts';
import { openDrivers } from './drivers/index.ts';
import { dropInitialPassword, prepareFirstStart } from './first-start.ts';
import { accountsTurnedOver, sealer } from './objects/accounts.ts';
import { NodeCatalog } from './objects/catalog.ts';
import { Authenticator } from './rest/http/authenticate.ts';
import { BodyBudgets } from './rest/http/incoming-body.ts';
import { Concurrency, Connections } from './rest/http/connections.ts';
import { RequestMeters } from './rest/http/request-log.ts';
import type { RestServices } from './rest/endpoints/endpoint.ts';
import { openBoot } from './boot/index.ts';
import { EventHub, Hooks } from './events/index.ts';
import { Images } from './images/index.ts';
import { machineEffects, type MachineWatch, openMachines } from './machines/index.ts';
import { openNames } from './names/index.ts';
import { Effects, nodeEffects, type NodeStatus, openNodes } from './nodes/index.ts';
import { LongWork } from './work/index.ts';
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
      failed: (error) => log.error({ err: error }, 'changes by other processes could not be read'),
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
    const ground = { data: config.data, store, box, log };
    const names = await openNames(config, ground);
    const nodes = openNodes(config, ground, names);
    const drivers = openDrivers(config.hardware, ground, nodes.hosts);
    const images = new Images(config.images, { ...ground, remote: nodes.remote });
    const bmcNetworks = config.hardware.networks;
    const { boot, machines } = openBoot(config.boot, ground, { images, names, nodes, drivers, bmcNetworks });
    const events = new EventHub(store, log);
    const { status, hostKeys, remote, announcements, removedNodes } = nodes;
    const { certificates, hardware, discovery, devices } = drivers;
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
      hardware,
      workerServices: { devices, remote: nodes.connections, probes: nodes.probes },
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
      discovery,
      announcements,
      ...names,
      machines,
      remote,
      images,
      boot,
      longWork: new LongWork(config.longWork, { data: config.data, log }),
      status,
      removedNodes,
      machineWatches: openMachines(ground, drivers, { status, events }),
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
      `This process may open ${files} files, so it takes at most ${most} connections, and ${mostOfOne} instead of ${wanted} from one address; raise the limit (LimitNOFILE= of a systemd unit, ulimit -n) for more.`,
    );
  }
  return connections;
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
