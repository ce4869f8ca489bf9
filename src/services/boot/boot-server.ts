import { join } from 'node:path';
import { formatListen } from '../../core/listen-address.ts';
import type { Logger } from '../../core/log.ts';
import type { Store } from '../../database/store.ts';
import type { Images } from '../images/images.ts';
import type { NodeStatus } from '../node-status.ts';
import { Loaders } from './loaders/loaders.ts';
import { NodeIndex } from './node-index.ts';
import { BootPacks } from './packs.ts';
import { Ramdisks } from './ramdisks.ts';
import { BootReports } from './reports.ts';
import { BootCatalog } from './server/catalog.ts';
import { HttpListener } from './server/http-listener.ts';
import { reportRoom } from './server/report-room.ts';
import type { BootRoom } from './server/room.ts';
import type { BootSettings } from './settings.ts';
import { BootTokens } from './tokens.ts';

export interface BootSurroundings {
  readonly data: string;
  readonly store: Store;
  readonly log: Logger;
  readonly images: Images;
  readonly status: NodeStatus;
}

/** What machines boot from. */
export class BootServer {
  readonly reports: BootReports;
  readonly tokens: BootTokens;
  readonly loaders: Loaders;
  /** What other parts of network boot add is put here before the start. */
  readonly rooms: BootRoom[];
  readonly #settings: BootSettings;
  readonly #log: Logger;
  readonly #catalog: BootCatalog;
  #listeners: HttpListener[] = [];

  constructor(settings: BootSettings, { data, store, log, images, status }: BootSurroundings) {
    const index = new NodeIndex();
    const { directory } = settings;
    this.#settings = settings;
    this.#log = log;
    this.reports = new BootReports(status);
    this.tokens = new BootTokens(store, index, settings.tokenLifetime * 1_000);
    this.loaders = new Loaders(directory);
    const ramdisks = new Ramdisks([
      ...(directory === undefined ? [] : [join(directory, 'ramdisk')]),
      join(data, 'ramdisk'),
    ]);
    const { tokens, loaders, reports } = this;
    this.rooms = [reportRoom(store, tokens, reports)];
    const { rooms } = this;
    this.#catalog = new BootCatalog({ store, index, tokens, packs: new BootPacks(images), loaders, ramdisks, rooms });
  }

  /** Listens where the settings say; an address that cannot be had is a Fault. */
  async start(): Promise<void> {
    const { listen = [] } = this.#settings;
    const services = { catalog: this.#catalog, reports: this.reports, rooms: this.rooms, log: this.#log };
    for (const address of listen) this.#listeners.push(await HttpListener.listen(address, services));
    for (const { address } of this.#listeners)
      this.#log.info(`boot files are served at http://${formatListen(address)}/`);
    if (listen.length === 0) return;
    this.#log.info(`boot loaders that are here: ${this.loaders.names().join(', ') || 'none'}`);
    for (const sentence of this.loaders.missing()) this.#log.warn(`a boot loader is missing: ${sentence}`);
  }

  async close(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    this.#listeners = [];
  }
}
