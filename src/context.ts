import { resolve } from 'node:path';
import { openAccounts, openOidc, SourceStates } from './accounts/index.ts';
import { sharedLogins } from './access/shared-logins.ts';
import { openData } from './access/open-data.ts';
import { Refusals } from './access/refusals.ts';
import { type Config, dataPlace } from './config.ts';
import { Metrics } from './core/metrics.ts';
import type { FileLock } from './core/file-lock.ts';
import { fileLimit } from './core/file-limit.ts';
import { createLog, type Logger } from './core/log.ts';
import { say } from './core/line-sink.ts';
import { HeldNames } from './database/held-names.ts';
import { lockDataDirectory } from './database/lock.ts';
import { openNews } from './database/news.ts';
import { Questions } from './database/questions.ts';
import { Servers } from './database/servers.ts';
import type { Store } from './database/store.ts';
import { openWorkers, type Workers } from './bus/index.ts';
import { answerDaemonCommands } from './dispatch/daemon-commands.ts';
import { type OpenedRuns, openRuns } from './dispatch/open-runs.ts';
import { WorkClaims } from './dispatch/work-claims.ts';
import {
  firmwareEffects,
  FirmwareRecords,
  openDrivers,
  BmcAuthority,
  CertificateRenewal,
  PasswordRotation,
  PendingCertificates,
  PendingPasswords,
  type JobNote,
  jobNoteMembers,
} from './drivers/index.ts';
import { dropInitialPassword, prepareFirstStart } from './first-start.ts';
import { accountNames, sealer } from './objects/accounts.ts';
import { NodeCatalog } from './objects/catalog.ts';
import { Authenticator } from './rest/http/authenticate.ts';
import { BodyBudgets } from './rest/http/incoming-body.ts';
import { Concurrency, Connections } from './rest/http/connections.ts';
import { RequestMeters } from './rest/http/request-log.ts';
import type { RestServices } from './rest/endpoints/endpoint.ts';
import { answerWorkers, MediaEjector, openBoot } from './boot/index.ts';
import { Consoles } from './consoles/index.ts';
import { EventHub, Hooks } from './events/index.ts';
import { Images } from './images/index.ts';
import { machineEffects, type MachineWatch, openMachines } from './machines/index.ts';
import { openNames } from './names/index.ts';
import {
  assignDuties,
  Effects,
  HardwareEventWatch,
  PowerBudgets,
  nodeEffects,
  type NodeStatus,
  openNodes,
  VitalsSeries,
} from './nodes/index.ts';
import { SelfCheck } from './self-check/self-check.ts';
import { LongWork } from './work/index.ts';
import { version } from './version.ts';

/** The one object that is handed to everything. */
export interface Context extends RestServices {
  readonly config: Config;
  readonly lock: FileLock;
  /** The database was new. */
  readonly isFirstStart: boolean;
  readonly servers: Servers;
  /** What servers of a database ask each other. */
  readonly questions: Questions;
  readonly sourceStates: SourceStates;
  readonly status: NodeStatus;
  /** One for each driver whose nodes are virtual machines. */
  readonly machineWatches: readonly MachineWatch[];
  readonly events: EventHub;
  readonly hardwareEvents: HardwareEventWatch;
  readonly powerBudgets: PowerBudgets;
  readonly series: VitalsSeries;
  readonly mediaEjector: MediaEjector;
  readonly openedRuns: OpenedRuns;
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
  let workers: Workers | undefined;
  try {
    const { box, store, newlySealed } = await openData(dataPlace(config), {
      failed: (error) => log.error({ err: error }, 'changes by other processes could not be read'),
      damaged(fault) {
        if (!damage.signal.aborted) log.fatal({ err: fault.cause }, fault.message);
        damage.abort(fault);
      },
    });
    opened = store;
    if (newlySealed.length > 0) log.warn(sealedNow(newlySealed));
    const data = resolve(config.data);
    const servers = new Servers(store.database.shared, log);
    await servers.replaceEarlier(data);
    const seal = sealer(box);
    const isFirstStart = accountNames(store.current).length === 0;
    say(await prepareFirstStart(store, seal, config));
    await dropInitialPassword(config.data, store, log);
    const ground = { data: config.data, store, box, log };
    const questions = new Questions({ shared: store.database.shared, servers, seal: box, log });
    workers = openWorkers(config.bus, { data: config.data, version, log });
    const names = await openNames(config, ground, { servers, questions, workers });
    const nodes = await openNodes(config, ground, names);
    const drivers = openDrivers(config.hardware, ground, nodes.hosts);
    const images = new Images(config.images, { ...ground, remote: nodes.remote });
    const bmcNetworks = config.hardware.networks;
    const news = openNews(store.database.shared, servers.id, log);
    const events = new EventHub(store, log, news);
    names.dhcp.pools.whenExhausted((sentence) => events.notice([], sentence));
    const { boot, machines } = openBoot(config.boot, ground, {
      images,
      names,
      nodes,
      drivers,
      events,
      bmcNetworks,
      news,
      servers,
    });
    if (workers) {
      answerWorkers(workers, boot, ground);
      assignDuties(workers, store, names);
    }
    const { status, hostKeys, remote, announcements, removedNodes } = nodes;
    const { certificates, hardware, discovery, devices } = drivers;
    const openedRuns = openRuns({ store, servers, audience: events, log });
    const { runs, runBoard } = openedRuns;
    const { shared } = store.database;
    const claims = new WorkClaims({ shared, servers, data, log });
    await claims.resume();
    const rotating = new HeldNames<JobNote>('bmc-passwords', jobNoteMembers, { shared, servers, data, log });
    await rotating.resume();
    const pending = new PendingPasswords(store, seal, box);
    const renewing = new HeldNames<JobNote>('bmc-certificates', jobNoteMembers, { shared, servers, data, log });
    await renewing.resume();
    const firmware = new FirmwareRecords(config.hardware, { shared, servers, data, log });
    await firmware.resume();
    const oidc = await openOidc(config.oidc, { store, box, log });
    const siteAccounts = openAccounts(config, oidc ? [oidc.source] : [], { store, log });
    const context: Context = {
      config,
      lock,
      isFirstStart,
      servers,
      questions,
      damage: damage.signal,
      log,
      version,
      store,
      seal,
      catalog: new NodeCatalog(),
      ranges: { rangeFiles: config.rangeFiles },
      runs,
      runBoard,
      openedRuns,
      hardware,
      workerServices: { devices, remote: nodes.connections, probes: nodes.probes },
      workers,
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
          ...firmwareEffects(firmware),
          media: (_node, { medium, drive }) =>
            drive === undefined ? boot.media.remove(medium) : boot.media.keep(medium, drive),
        },
        status,
      ),
      rotation: new PasswordRotation({ store, pending, hardware, devices, held: rotating, log }),
      renewal: new CertificateRenewal({
        hardware,
        devices,
        pending: new PendingCertificates(store),
        authority: new BmcAuthority(store, seal, box),
        held: renewing,
        ca: certificates.ca,
      }),
      discovery,
      firmware,
      announcements,
      ...names,
      machines,
      remote,
      secrets: box,
      images,
      boot,
      longWork: new LongWork(config.longWork, { data: config.data, log, claims }),
      status,
      removedNodes,
      machineWatches: openMachines(ground, drivers, { status, events: events.here }),
      events,
      consoles: new Consoles({
        ...ground,
        settings: config.consoles,
        hardware,
        devices,
        certificates,
        workers,
        events,
        servers,
        audit: config.audit,
      }),
      hardwareEvents: new HardwareEventWatch(config.events, {
        store,
        hardware,
        devices,
        box,
        rangeFiles: config.rangeFiles,
        log,
        report: (about, reported) => events.hardware(about, reported),
      }),
      powerBudgets: new PowerBudgets(config.powerBudgets, {
        store,
        shared,
        id: servers.id,
        hardware,
        devices,
        rangeFiles: config.rangeFiles,
        log,
        notice: (about, message) => events.notice(about, message),
      }),
      series: new VitalsSeries(config.series, { store, hardware, devices, rangeFiles: config.rangeFiles, log }),
      mediaEjector: new MediaEjector({
        shelf: boot.media,
        reports: boot.reports,
        store,
        hardware,
        devices,
        log,
        notice: (about, sentence) => events.notice(about, sentence),
      }),
      hooks: new Hooks(config.hooks, { store, events, box, log }),
      metrics: new Metrics(),
      selfCheck: new SelfCheck(() => context),
      exporterPort: config.metrics.exporterPort,
      meters: new RequestMeters(),
      audit: config.audit,
      siteAccounts,
      oidc,
      sourceStates: new SourceStates(siteAccounts, log),
      authenticator: new Authenticator(
        store,
        sharedLogins(store.database.shared, servers.id, log, siteAccounts.checksPasswords),
        siteAccounts,
        config.socket.accounts,
      ),
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
    answerDaemonCommands(context);
    return context;
  } catch (error) {
    await workers?.close();
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
  context.sourceStates.close();
  context.siteAccounts.close();
  // What others have asked for is done before the daemons are left.
  await context.questions.close();
  for (const watch of context.machineWatches) watch.close();
  context.hardwareEvents.close();
  context.series.close();
  await context.removedNodes.close();
  await Promise.all(
    [boot, workerServices.devices, discovery, dns, dhcp, workerServices.remote].map((part) => part.close()),
  );
  // After the devices: what a worker did not begin is not begun here either.
  await context.workers?.close();
  await Promise.all([context.status.flush(), context.refusals.close(), context.openedRuns.close()]);
  await context.servers.close();
  await context.store.close();
  context.lock.release();
}
