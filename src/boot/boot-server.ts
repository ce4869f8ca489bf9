import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { canonicalAddress } from '../access/addresses.ts';
import { formatListen, type ListenAddress } from '../core/host-address.ts';
import type { Logger } from '../core/log.ts';
import type { Store } from '../database/store.ts';
import type { TftpServer } from '../protocols/tftp/server.ts';
import type { Dhcp } from '../names/index.ts';
import type { Images } from '../images/index.ts';
import type { NodeStatus, SshHostKeys } from '../nodes/index.ts';
import { BootWatcher } from './boot-watcher.ts';
import { Loaders } from './loaders.ts';
import { NodeIndex } from './node-index.ts';
import { NodeOrders } from './boot-order.ts';
import { BootPacks } from './packs.ts';
import { Ramdisks } from './ramdisk.ts';
import { BootReports } from './reports.ts';
import { answerRoute, loginRoute, postscriptRoute, stateliteRoute } from './routes/own-files.ts';
import { imageRoute, installRoute, loaderRoute, ramdiskRoute } from './routes/files.ts';
import { referenceRoute, scriptRoute } from './routes/scripts.ts';
import { reportRoute } from './routes/reports.ts';
import type { BootRoute } from './routes/route.ts';
import { BootCatalog } from './server/catalog.ts';
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
  readonly status: NodeStatus;
  readonly hostKeys: Pick<SshHostKeys, 'report'>;
  readonly dhcp: Pick<Dhcp, 'gaveToFirmware'>;
  /** The directory of the scripts that nodes run. */
  readonly postscripts: string;
}

/** What machines boot from. */
export class BootServer {
  readonly index: NodeIndex;
  readonly reports: BootReports;
  readonly watcher: BootWatcher;
  readonly tokens: BootTokens;
  readonly ramdisks: Ramdisks;
  /** What other parts of network boot add is put here before the start. */
  readonly routes: BootRoute[];
  readonly #settings: BootSettings;
  readonly #log: Logger;
  readonly #loaders: Loaders;
  readonly #data: string;
  #nginx: BootNginx | undefined;
  /** Where machines ask by HTTP. */
  #addresses: readonly ListenAddress[] = [];
  #http: HttpListener[] = [];
  #tftp: TftpServer[] = [];

  constructor(settings: BootSettings, surroundings: BootSurroundings) {
    const { data, store, log, images, status, hostKeys, dhcp, postscripts } = surroundings;
    const { directory, tokenLifetime, newBoots } = settings;
    this.#settings = settings;
    this.#log = log;
    this.#data = data;
    const index = (this.index = new NodeIndex(store));
    const reports = (this.reports = new BootReports(status));
    const closedSince = (node: string): Date | undefined => this.tokens.closedSince(node);
    this.watcher = new BootWatcher({ reports, status, isServed: () => this.isServed, closedSince }, settings);
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
    const own = directory === undefined ? [] : [join(directory, 'ramdisk')];
    const ramdisks = (this.ramdisks = new Ramdisks([...own, join(data, 'ramdisk')]));
    const packs = new BootPacks(images);
    const orders = new NodeOrders({ index, tokens, packs, ramdisks, routes, log });
    routes.push(
      scriptRoute(index, orders),
      imageRoute(packs, index),
      loaderRoute(loaders, index, log),
      ramdiskRoute(ramdisks, index),
      referenceRoute(index, orders),
      installRoute(index),
      postscriptRoute(index, tokens, postscripts),
      stateliteRoute(index, tokens),
      loginRoute(tokens, images.publicKey),
      answerRoute(images, index, tokens),
      reportRoute({ store, tokens, reports, hostKeys, log }),
    );
  }

  /** Listens where the settings say; an address that cannot be had is a Fault. */
  async start(): Promise<void> {
    const { listen = [], tftpListen = [] } = this.#settings;
    const log = this.#log;
    const { reports, routes } = this;
    const { maxConnectionsPerAddress } = this.#settings;
    const countedAs = (address: string): string => this.index.countedAs(address);
    const services = { catalog: new BootCatalog(routes), reports, routes, log, maxConnectionsPerAddress, countedAs };
    await this.#startHttp(listen, services);
    const httpPort = (): number => this.#addresses[0]?.port ?? 80;
    for (const address of tftpListen) {
      const server = await listenTftp(address, { ...services, httpPort });
      this.#tftp.push(server);
      log.info(`boot files are served by TFTP at ${formatListen({ ...address, port: server.port })}`);
    }
    for (const address of this.#addresses) log.info(`boot files are served at http://${formatListen(address)}/`);
    if (listen.length + tftpListen.length > 0) this.#logLoaders();
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

  /** Whether machines can fetch anything here. */
  get isServed(): boolean {
    return (this.#settings.listen ?? this.#settings.tftpListen) !== undefined;
  }

  #logLoaders(): void {
    this.#log.info(`boot loaders that are here: ${this.#loaders.names().join(', ') || 'none'}`);
    for (const sentence of this.#loaders.missing()) this.#log.warn(`a boot loader is missing: ${sentence}`);
  }

  async close(): Promise<void> {
    await this.#nginx?.close();
    await Promise.all([...this.#http, ...this.#tftp].map((listener) => listener.close()));
    this.#http = [];
    this.#tftp = [];
  }
}
