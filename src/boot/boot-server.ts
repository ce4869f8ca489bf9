import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { canonicalAddress } from '../access/addresses.ts';
import type { SecretBox } from '../access/secrets.ts';
import { formatListen, type ListenAddress } from '../core/host-address.ts';
import type { Logger } from '../core/log.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { HeldNames } from '../database/held-names.ts';
import type { Leases } from '../database/leases.ts';
import type { News } from '../database/news.ts';
import type { Servers } from '../database/servers.ts';
import type { Store } from '../database/store.ts';
import { goneNodes } from '../objects/gone-nodes.ts';
import type { TftpServer } from '../protocols/tftp/server.ts';
import type { Dhcp, NodeDhcp } from '../names/index.ts';
import type { Images } from '../images/index.ts';
import type { EventHub } from '../events/index.ts';
import type { NodeStatus, Remote, RemoteNodes, SshHostKeys } from '../nodes/index.ts';
import { mediaBase, reached } from './media/media-addresses.ts';
import { MediaRecords } from './media/media-records.ts';
import { MediaShelf } from './media/media-shelf.ts';
import { BootHistoryFile } from './boot-history-file.ts';
import { BootWatcher, type Provisioning, provisioningMembers } from './boot-watcher.ts';
import { FirstBootSync } from './first-boot-sync.ts';
import { Loaders } from './loaders.ts';
import { NodeIndex } from './node-index.ts';
import { NodeOrders } from './boot-order.ts';
import { Overlays } from './overlays/node-overlay.ts';
import { OverlayTimer } from './overlays/overlay-timer.ts';
import { BootPacks } from './packs.ts';
import { Ramdisks } from './ramdisk.ts';
import { type ImagesWanted, type ReadinessByImage, readinessOf } from './readiness.ts';
import { BootReports } from './reports.ts';
import { answerRoute, loginRoute, overlayRoute, postscriptRoute, stateliteRoute } from './routes/own-files.ts';
import { imageRoute, installRoute, loaderRoute, ramdiskRoute } from './routes/files.ts';
import { referenceRoute, scriptRoute } from './routes/scripts.ts';
import { reportRoute } from './routes/reports.ts';
import { type BootClient, bootClient, type BootRoute } from './routes/route.ts';
import { Strangers } from './strangers.ts';
import { BootCatalog, type BootSource } from './server/catalog.ts';
import { HttpListener, type ListenerServices } from './server/http-listener.ts';
import { BootNginx } from './server/nginx.ts';
import { listenTftp } from './server/tftp-listener.ts';
import type { BootSettings } from './settings.ts';
import { BootTokens } from './tokens.ts';

export interface BootSurroundings {
  readonly data: string;
  readonly store: Store;
  readonly log: Logger;
  readonly images: Images;
  /** Opens the secrets of nodes for their overlays. */
  readonly box: Pick<SecretBox, 'open' | 'seal'>;
  readonly status: NodeStatus;
  readonly hostKeys: Pick<SshHostKeys, 'report'>;
  readonly dhcp: Pick<NodeDhcp, 'gaveToFirmware'>;
  readonly bootServers: Pick<Dhcp, 'bootWorkers' | 'bootServerOf'>;
  readonly events: Pick<EventHub, 'boot' | 'notice'>;
  readonly remote: Pick<Remote, 'postscripts' | 'sources' | 'targets' | 'fanOut'>;
  readonly connections: Pick<RemoteNodes, 'update'>;
  readonly news: News | undefined;
  readonly servers: Pick<Servers, 'id' | 'name' | 'machine'>;
}

/** Where else a node gets its boot script: from its other workers, and from the server. */
function otherServers(
  bootServers: BootSurroundings['bootServers'],
  snapshot: Snapshot,
  node: string,
  { address, server, httpPort }: BootClient,
): string[] {
  const workers = bootServers.bootWorkers(snapshot)?.(node);
  if (!workers) return [];
  const known = [...workers.map((each) => each.address), bootServers.bootServerOf(address) ?? server];
  return [...new Set(known)]
    .filter((each) => each !== server)
    .map((each) => bootClient(address, each, httpPort, 'http').authority);
}

/** What machines boot from. */
export class BootServer {
  readonly index: NodeIndex;
  readonly reports: BootReports;
  readonly watcher: BootWatcher;
  readonly tokens: BootTokens;
  /** What BMCs fetch. */
  readonly media: MediaShelf;
  readonly ramdisks: Ramdisks;
  readonly overlays: Overlays;
  /** What the routes have, for listeners here and elsewhere. */
  readonly source: BootSource;
  /** What other parts of network boot add is put here before the start. */
  readonly routes: BootRoute[];
  /** What nodes find that boot one of the images. */
  readonly readiness: (snapshot: Snapshot, wanted: ImagesWanted) => Promise<ReadinessByImage>;
  readonly #settings: BootSettings;
  readonly #bootServers: BootSurroundings['bootServers'];
  readonly #log: Logger;
  readonly #loaders: Loaders;
  readonly #overlayTimer: OverlayTimer;
  readonly #data: string;
  readonly #store: Store;
  #nginx: BootNginx | undefined;
  #unsubscribe: (() => void) | undefined;
  /** Where machines ask by HTTP. */
  #addresses: readonly ListenAddress[] = [];
  /** Where BMCs ask by HTTPS. */
  #secureAddresses: readonly ListenAddress[] = [];
  #http: HttpListener[] = [];
  #tftp: TftpServer[] = [];

  constructor(settings: BootSettings, surroundings: BootSurroundings) {
    const {
      data,
      store,
      log,
      images,
      box,
      status,
      hostKeys,
      dhcp,
      bootServers,
      events,
      remote,
      connections,
      news,
      servers,
    } = surroundings;
    const { postscripts, sources } = remote;
    const { directory, tokenLifetime, newBoots } = settings;
    this.#settings = settings;
    this.#bootServers = bootServers;
    this.#log = log;
    this.#data = data;
    this.#store = store;
    const index = (this.index = new NodeIndex(store));
    const reports = (this.reports = new BootReports(status, news));
    // Installers fetch thousands of files.
    reports.subscribe((node, { step, text }) => step !== 'file' && events.boot(node, step, text));
    const closedSince = (node: string): Date | undefined => this.tokens.closedSince(node);
    const { shared } = store.database;
    const held = new HeldNames<Provisioning>('provisioning', provisioningMembers, { shared, servers, data, log });
    const isServed = (node: string): boolean => this.servedNodes()(node);
    this.watcher = new BootWatcher({ reports, status, isServed, closedSince, held, server: servers.name }, settings);
    const tokens = (this.tokens = new BootTokens(store, index, {
      lifetime: tokenLifetime * 1_000,
      isNewBoot: async (address, since) => {
        const plain = canonicalAddress(address);
        // In IPv6 leases of firmware are like all others.
        return newBoots === 'assumed' || isIPv6(plain) || (await dhcp.gaveToFirmware(plain, since));
      },
    }));
    const loaders = (this.#loaders = new Loaders(directory));
    const routes: BootRoute[] = (this.routes = []);
    this.source = new BootCatalog(routes, reports);
    const own = directory === undefined ? [] : [join(directory, 'ramdisk')];
    const ramdisks = (this.ramdisks = new Ramdisks([...own, join(data, 'ramdisk')]));
    const packs = new BootPacks(images);
    this.readiness = (snapshot, wanted) => readinessOf(snapshot, wanted, { packs, images });
    const strangers = new Strangers(log, events);
    const overlays = (this.overlays = new Overlays(images.paths, box));
    this.#overlayTimer = new OverlayTimer({ store, overlays, remote, connections, log });
    const orders = new NodeOrders({
      index,
      tokens,
      packs,
      ramdisks,
      overlays,
      paths: images.paths,
      routes,
      log,
      strangers,
    });
    const records = new MediaRecords({ shared, servers, data, log });
    this.media = new MediaShelf({
      records,
      box,
      loaders,
      index,
      orders,
      tokens,
      reports,
      source: this.source,
      mediaBase: (bmc) => mediaBase({ secure: this.#secureAddresses, plain: this.#addresses }, bmc),
      serverOf: async (address) => {
        const { host, port } = await reached(this.#addresses, address);
        return { host: bootServers.bootServerOf(address) ?? host, port };
      },
    });
    routes.push(
      this.media.route(),
      scriptRoute(index, orders, (node, client) => otherServers(bootServers, index.snapshot, node, client)),
      imageRoute(packs, index),
      loaderRoute(loaders, index, log),
      ramdiskRoute(ramdisks, index),
      referenceRoute(index, orders),
      installRoute(index),
      postscriptRoute(index, tokens, { postscripts, sources, sync: new FirstBootSync(sources) }),
      stateliteRoute(index, tokens),
      overlayRoute(index, tokens, overlays),
      loginRoute(tokens, images.publicKey),
      answerRoute(images, index, tokens, overlays),
      reportRoute({ store, tokens, reports, hostKeys, log }),
    );
  }

  /** Listens where the settings say; an address that cannot be had is a Fault. */
  async start(leases: Pick<Leases, 'keep'>, credentials: ListenerServices['credentials']): Promise<void> {
    await this.watcher.resume();
    await this.media.resume();
    const { listen = [], tftpListen = [] } = this.#settings;
    const log = this.#log;
    const { reports, source } = this;
    const exists = (node: string): boolean => this.index.snapshot.get('nodelist', node) !== undefined;
    reports.past.open(new BootHistoryFile(join(this.#data, 'boot-history.jsonl'), log), exists);
    this.#forgetGoneNodes();
    const { maxConnectionsPerAddress } = this.#settings;
    const countedAs = (address: string): string => this.index.countedAs(address);
    const services = { source, log, maxConnectionsPerAddress, countedAs };
    await this.#startHttp(listen, services);
    await this.#startMedia(services, credentials);
    const httpPort = (): number => this.#addresses[0]?.port ?? 80;
    for (const address of tftpListen) {
      const server = await listenTftp(address, { ...services, httpPort });
      this.#tftp.push(server);
      log.info(`boot files are served by TFTP at ${formatListen({ ...address, port: server.port })}`);
    }
    for (const address of this.#addresses) log.info(`boot files are served at http://${formatListen(address)}/`);
    if (listen.length + tftpListen.length > 0) this.#logLoaders();
    const { overlaySeconds } = this.#settings;
    if (overlaySeconds !== undefined) leases.keep('overlays', () => this.#overlayTimer.start(overlaySeconds));
  }

  /** A node that gets a name later has nothing to do with the one that had it before. */
  #forgetGoneNodes(): void {
    let before = this.#store.current.rows('nodelist');
    this.#unsubscribe = this.#store.subscribe((current) => {
      const rows = current.rows('nodelist');
      const { removed, renamed } = goneNodes(before, rows);
      before = rows;
      for (const [from, to] of renamed) this.reports.rename(from, to);
      for (const node of removed) this.reports.forget(node);
    });
  }

  async #startHttp(listen: readonly ListenAddress[], services: ListenerServices): Promise<void> {
    if (listen.length === 0) return;
    if (this.#settings.files === 'muster') {
      for (const address of listen) this.#http.push(await HttpListener.listen(address, services));
      this.#addresses = this.#http.map(({ address }) => address);
      return;
    }
    const nginx = (this.#nginx = new BootNginx(this.#settings, this.#data, this.#log));
    const own = await HttpListener.listen({ host: '127.0.0.1', port: 0 }, { ...services, proxySecret: nginx.secret });
    this.#http.push(own);
    await nginx.start(own.address.port);
    this.#addresses = listen;
  }

  /** By HTTPS there are media, and nothing else. */
  async #startMedia(services: ListenerServices, credentials: ListenerServices['credentials']): Promise<void> {
    const { mediaListen = [] } = this.#settings;
    const source = new BootCatalog([this.media.route()], this.reports);
    const secure: HttpListener[] = [];
    for (const address of mediaListen) {
      const listener = await HttpListener.listen(address, { ...services, source, credentials });
      this.#http.push(listener);
      secure.push(listener);
      this.#log.info(`virtual media are served at https://${formatListen(listener.address)}/`);
    }
    this.#secureAddresses = secure.map(({ address }) => address);
  }

  /** Has BMCs that fetch media from now on see the certificate. */
  show(credentials: NonNullable<ListenerServices['credentials']>): void {
    for (const listener of this.#http) listener.show(credentials);
  }

  /** Whether machines can fetch anything here. */
  get isServed(): boolean {
    return (this.#settings.listen ?? this.#settings.tftpListen) !== undefined;
  }

  /** Whether a node can fetch anything, here or from one of its workers. */
  servedNodes(): (node: string) => boolean {
    if (this.isServed) return () => true;
    const workers = this.#bootServers.bootWorkers(this.index.snapshot);
    return (node) => (workers?.(node).length ?? 0) > 0;
  }

  /** Sentences about boot loaders that firmware may ask for and that are not here. */
  missingLoaders(): string[] {
    return this.#loaders.missing();
  }

  #logLoaders(): void {
    this.#log.info(`boot loaders that are here: ${this.#loaders.names().join(', ') || 'none'}`);
    for (const sentence of this.#loaders.missing()) this.#log.warn(`a boot loader is missing: ${sentence}`);
  }

  async close(): Promise<void> {
    this.#unsubscribe?.();
    await this.watcher.flush();
    await this.#overlayTimer.close();
    await this.#nginx?.close();
    await Promise.all([...this.#http, ...this.#tftp].map((listener) => listener.close()));
    this.#http = [];
    this.#tftp = [];
    await this.reports.close();
  }
}
