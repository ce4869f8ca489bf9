import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Server } from 'node:https';
import { type AddressInfo, isIPv4 } from 'node:net';
import { hostname } from 'node:os';
import { followSources } from './accounts/index.ts';
import type { Config } from './config.ts';
import { closeContext, type Context, openContext } from './context.ts';
import { Fault } from './core/errors.ts';
import { formatListen, type ListenAddress } from './core/host-address.ts';
import { say } from './core/line-sink.ts';
import { reportReady, reportStopping } from './core/service-manager.ts';
import { resumeLongWork } from './dispatch/long.ts';
import { BackupWatch } from './backup-watch.ts';
import { DiskSpace } from './disk-space.ts';
import { nextSteps } from './first-start.ts';
import { startHousekeeping } from './housekeeping.ts';
import { openLocalSocket } from './local-socket.ts';
import { hintNetworks } from './network-hints.ts';
import { type Credentials, loadCredentials } from './rest/http/certificates.ts';
import type { Endpoint } from './rest/endpoints/endpoint.ts';
import { endpoints } from './rest/endpoints/index.ts';
import { collectMetrics } from './metrics.ts';
import { musterRoot } from './rest/endpoints/roots.ts';
import { createServer } from './rest/http/server.ts';
import { closeUpgrades } from './rest/http/upgrades.ts';
import { indexGroups } from './objects/groups.ts';
import { resumeNames } from './names/index.ts';
import { protectForgottenTrees, protectTrees } from './images/index.ts';
import { ensureOwnCertificate, followCertificates } from './server-certificate.ts';
import { ServiceState } from './service-state.ts';
import { stopSignals } from './stop-signals.ts';

const closeTimeout = 30_000;
/** For requests that get the error that the database is damaged; others have nothing to wait for. */
const damagedTimeout = 2_000;

/** Runs the service until it is asked to stop. */
export async function serve(config: Config, rows: readonly Endpoint[] = endpoints): Promise<void> {
  const context = await openContext(config);
  for (const name of config.unknownVariables)
    context.log.warn(`The environment variable ${name} is not a setting and has no effect.`);
  for (const sentence of config.earlierSettings) context.log.warn(sentence);
  collectMetrics(context);
  const backupWatch = new BackupWatch(context);
  const diskSpace = new DiskSpace(context);
  context.metrics.add(() => diskSpace.metrics());
  const serviceState = new ServiceState(context);
  context.metrics.add(() => serviceState.metrics());
  const { stop, hurry } = stopSignals();
  hurry.addEventListener('abort', () => context.log.warn('asked to stop again: ending running requests now'));
  let servers: Server[] = [];
  let plain: Server[] = [];
  let local: Server | undefined;
  const stopping = new AbortController();
  try {
    // In a large cluster it would hold up everybody behind the first who asks for a group.
    indexGroups(context.store.current);
    // Before anybody can ask for another one. Those of other servers may go on.
    if ((await context.servers.list()).length === 0) await context.status.resume();
    await resumeLongWork(context);
    await protectImageTrees(context, stopping.signal).catch((error: unknown) =>
      context.log.error({ err: error }, 'trees of images could not be protected'),
    );
    servers = await listen(context, rows);
    plain = await open(context, rows, context.config.http.listen, undefined);
    local = await openLocalSocket(context, rows);
    await context.boot.start(context.servers.leases, loadCredentials(config));
    context.mediaEjector.follow();
    const certificates = followCertificates({
      config,
      log: context.log,
      show(credentials) {
        for (const server of servers) server.setSecureContext({ ...credentials, minVersion: 'TLSv1.2' });
        context.boot.show(credentials);
        context.hardwareEvents.show(credentials);
      },
    });
    process.on('SIGHUP', () => certificates.reload());
    resumeNames(context, context.log);
    for (const watch of context.machineWatches) watch.resume();
    context.removedNodes.resume();
    context.series.start();
    await context.hardwareEvents.listen(loadCredentials(config));
    if (config.events.hardware !== undefined)
      context.servers.leases.keep('hardware-events', () => context.hardwareEvents.start());
    const { siteAccounts } = context;
    if (siteAccounts.sources.length > 0)
      context.servers.leases.keep('site-accounts', () => followSources(siteAccounts, context));
    context.servers.leases.keep('power-budgets', () => context.powerBudgets.start());
    const { workers } = context;
    if (workers)
      context.servers.leases.keep(
        'boot-servers',
        () => context.dhcp.followWorkers((nodes, sentence) => context.events.notice(nodes, sentence)),
        () => workers.problem === undefined,
      );
    context.servers.leases.keep('bmc-passwords', () => context.rotation.follow());
    context.servers.leases.keep('hooks', () => {
      context.hooks.resume();
      return () => context.hooks.close();
    });
    context.servers.leases.keep('consoles', () => context.consoles.begin());
    const stopHousekeeping = startHousekeeping(context);
    const note = {
      name: context.servers.name,
      version: context.version,
      since: new Date().toISOString(),
      listens: servers.map((server) => formatListen(listening(server))),
    };
    await context.servers.start(note, () => context.runs.load);
    await context.store.database.claimForm();
    const urls = servers.map((server) => `https://${formatListen(reached(listening(server)))}${musterRoot.prefix}`);
    say(`muster ready ${urls.join(' ')}\nThe manual is at ${urls[0]}/manual\n`);
    if (context.isFirstStart && process.stdout.isTTY) say(nextSteps());
    for (const server of plain)
      say(`Without TLS: http://${formatListen(reached(listening(server)))}${musterRoot.prefix}\n`);
    reportReady(`Serving at ${urls.join(' ')}`, (sentence) => context.log.warn(sentence));
    hintNetworks(context).catch((error: unknown) =>
      context.log.error({ err: error }, 'the networks could not be examined'),
    );
    await Promise.race([stop, aborted(context.damage)]);
    reportStopping();
    stopHousekeeping();
    await certificates.close();
  } finally {
    stopping.abort();
    backupWatch.close();
    diskSpace.close();
    serviceState.close();
    context.boot.watcher.close();
    context.mediaEjector.close();
    // Before the lease of the consoles, so that who is at one hears why it ends.
    await context.consoles.close();
    await context.servers.leases.close();
    await context.events.close();
    await Promise.all([
      context.longWork.close(),
      ...[...servers, ...plain, ...(local ? [local] : [])].map((server) =>
        finish(server, hurry, context.damage.aborted ? damagedTimeout : closeTimeout),
      ),
    ]);
    await closeContext(context);
  }
  context.damage.throwIfAborted();
}

/** Those that work may begin on are protected before it can; others are searched for meanwhile. */
async function protectImageTrees({ store, images, log }: Context, signal: AbortSignal): Promise<void> {
  const snapshot = store.current;
  const known = await protectTrees(snapshot, images, log);
  protectForgottenTrees(images.paths.roots(snapshot), known, log, signal).catch((error: unknown) =>
    log.error({ err: error }, 'trees of images without definitions could not be protected'),
  );
}

/** Resolves when it is. What cannot be closed then in time is left behind: there is nothing to lose. */
const aborted = (damage: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const heard = (): void => {
      setTimeout(() => process.exit(1), closeTimeout).unref();
      resolve();
    };
    if (damage.aborted) heard();
    else damage.addEventListener('abort', heard, { once: true });
  });

async function listen(context: Context, rows: readonly Endpoint[]): Promise<Server[]> {
  const { config } = context;
  if (!config.tls) {
    const { created, ca } = await ensureOwnCertificate(config);
    if (created) say(`A certificate authority was made; clients verify this server with ${ca}\n`);
  }
  return open(context, rows, config.listen, loadCredentials(config));
}

/** Node would take one of the name's addresses, whichever comes first. */
const numeric = (host: string): string => (host === 'localhost' ? '127.0.0.1' : host);

async function open(
  context: Context,
  rows: readonly Endpoint[],
  addresses: readonly ListenAddress[],
  credentials: Credentials | undefined,
): Promise<Server[]> {
  const servers: Server[] = [];
  for (const { host, port } of addresses) {
    const address = numeric(host);
    const server = createServer(context, credentials, rows);
    servers.push(server);
    try {
      // [::] alone takes IPv4 too; beside an IPv4 address on the same port it would take that one's place.
      const ipv6Only = addresses.some((other) => other.port === port && isIPv4(numeric(other.host)));
      await once(server.listen({ host: address, port, ipv6Only }), 'listening');
    } catch (error) {
      for (const each of servers) each.close();
      const sentence = `Cannot listen on ${formatListen({ host, port })}: ${(error as Error).message}.`;
      throw new Fault('unavailable', [sentence, 'Choose where to listen with --listen HOST:PORT.']);
    }
  }
  return servers;
}

function listening(server: Server): ListenAddress {
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port };
}

/** Where clients find a server: one that listens everywhere has no address that they could use. */
const reached = ({ host, port }: ListenAddress): ListenAddress =>
  host === '0.0.0.0' || host === '::' ? { host: hostname().toLowerCase(), port } : { host, port };

/** Takes no new connections, lets running requests end, and closes connections as they fall idle. */
async function finish(server: Server, hurry: AbortSignal, timeout: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const ended = closed.then(() => true);
  for (const began = Date.now(); Date.now() - began < timeout && !hurry.aborted; ) {
    server.closeIdleConnections();
    if (await Promise.race([ended, wait(50, false)])) return;
  }
  server.closeAllConnections();
  closeUpgrades(server);
  await closed;
}
