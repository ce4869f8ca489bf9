import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Server } from 'node:https';
import { type AddressInfo, isIPv4 } from 'node:net';
import type { Config } from './config.ts';
import { closeContext, type Context, openContext } from './context.ts';
import { Fault } from './core/errors.ts';
import { formatListen, type ListenAddress } from './core/host-address.ts';
import { say } from './core/line-sink.ts';
import { resumeLongWork } from './dispatch/long.ts';
import { DiskSpace } from './disk-space.ts';
import { startHousekeeping } from './housekeeping.ts';
import { openLocalSocket } from './local-socket.ts';
import { hintNetworks } from './network-hints.ts';
import { type Credentials, ensureCertificates, loadCredentials, localNames } from './rest/http/certificates.ts';
import type { Endpoint } from './rest/endpoints/endpoint.ts';
import { endpoints } from './rest/endpoints/index.ts';
import { collectMetrics } from './metrics.ts';
import { musterRoot } from './rest/endpoints/roots.ts';
import { createServer } from './rest/http/server.ts';
import { protectForgottenTrees, protectTrees } from './images/index.ts';
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
  const diskSpace = new DiskSpace(context);
  context.metrics.add(() => diskSpace.metrics());
  const { stop, hurry } = stopSignals();
  hurry.addEventListener('abort', () => context.log.warn('asked to stop again: ending running requests now'));
  let servers: Server[] = [];
  let plain: Server[] = [];
  let local: Server | undefined;
  const stopping = new AbortController();
  try {
    // Before anybody can ask for another one.
    await context.status.resume();
    await resumeLongWork(context);
    await protectImageTrees(context, stopping.signal).catch((error: unknown) =>
      context.log.error({ err: error }, 'trees of images could not be protected'),
    );
    servers = await listen(context, rows);
    plain = await open(context, rows, context.config.http.listen, undefined);
    local = await openLocalSocket(context, rows);
    await context.boot.start();
    reloadOnHangup(context, servers);
    context.dns.resume();
    context.dhcp.resume();
    for (const watch of context.machineWatches) watch.resume();
    context.removedNodes.resume();
    context.hooks.resume();
    const stopHousekeeping = startHousekeeping(context);
    const urls = servers.map((server) => `https://${formatListen(listening(server))}${musterRoot.prefix}`);
    say(`muster ready ${urls.join(' ')}\nThe manual is at ${urls[0]}/manual\n`);
    for (const server of plain) say(`Without TLS: http://${formatListen(listening(server))}${musterRoot.prefix}\n`);
    hintNetworks(context).catch((error: unknown) =>
      context.log.error({ err: error }, 'the networks could not be examined'),
    );
    await Promise.race([stop, aborted(context.damage)]);
    stopHousekeeping();
  } finally {
    stopping.abort();
    diskSpace.close();
    context.boot.watcher.close();
    context.hooks.close();
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
    const { created, ca } = await ensureCertificates(config.data, [
      ...new Set([...localNames(), ...config.listen.map(({ host }) => host)]),
    ]);
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

function listening(server: Server): { host: string; port: number } {
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port };
}

/** A new certificate serves the next connections; a broken one changes nothing. */
function reloadOnHangup({ config, log }: Context, servers: readonly Server[]): void {
  process.on('SIGHUP', () => {
    try {
      const credentials = loadCredentials(config);
      for (const server of servers) server.setSecureContext({ ...credentials, minVersion: 'TLSv1.2' });
      log.info('the certificate was reloaded');
    } catch (error) {
      log.error({ err: error }, 'the certificate could not be reloaded; the old one stays in use');
    }
  });
}

/** Takes no new connections, lets running requests end, and closes connections as they fall idle. */
async function finish(server: Server, hurry: AbortSignal, timeout: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const ended = closed.then(() => true);
  for (const began = Date.now(); Date.now() - began < timeout && !hurry.aborted; ) {
    server.closeIdleConnections();
    if (await Promise.race([ended, wait(50, false)])) return;
  }
  server.closeAllConnections();
  await closed;
}
