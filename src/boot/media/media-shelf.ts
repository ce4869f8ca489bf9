import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import { mediaPath, type OwnMedium } from '../../drivers/index.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { interfacesOf } from '../../objects/host-interfaces.ts';
import type { NodeOrders } from '../boot-order.ts';
import type { Loaders } from '../loaders.ts';
import { macsOf, type NodeIndex } from '../node-index.ts';
import type { BootReports } from '../reports.ts';
import { bootClient, type BootClient, type BootRoute } from '../routes/route.ts';
import { type BootSource, pathSegments } from '../server/catalog.ts';
import type { BootTokens } from '../tokens.ts';
import { efiImage, mediumOf, mediumScript, type PinnedFile, pinned } from './boot-medium.ts';
import type { Piece } from './iso-image.ts';
import type { MediaRecord, MediaRecords } from './media-records.ts';

const sealContext = 'media.script';

export interface ShelfServices {
  readonly records: MediaRecords;
  readonly box: Pick<SecretBox, 'seal' | 'open'>;
  readonly loaders: Loaders;
  readonly index: NodeIndex;
  readonly orders: Pick<NodeOrders, 'of'>;
  readonly tokens: Pick<BootTokens, 'expectBoot'>;
  readonly reports: Pick<BootReports, 'note'>;
  readonly source: Pick<BootSource, 'find'>;
  /** Where a BMC fetches media from, as URLs begin. */
  mediaBase(bmc: string): Promise<string>;
  /** Which address of ours, with what port, a node reaches. */
  serverOf(address: string): Promise<{ readonly host: string; readonly port: number }>;
}

/** Who wants a medium, for which node, whose BMC has this address. */
export interface MediumUser {
  readonly node: string;
  readonly bmc: string;
  readonly user: string;
}

/** A medium that was made ready, and what a driver needs to know of it. */
export interface OfferedMedium {
  readonly id: string;
  readonly url: string;
  /** What the node has so far. */
  readonly own: OwnMedium | undefined;
}

/**
 * The media that BMCs fetch from this server, each under an address of its own that nobody can guess. What is made ready is written down
 * when a BMC is about to get it, and served from then on.
 */
export class MediaShelf {
  readonly #services: ShelfServices;
  readonly #offered = new Map<string, MediaRecord>();
  /** By node, and by id. */
  readonly #kept = new Map<string, MediaRecord>();
  readonly #byId = new Map<string, MediaRecord>();
  /** Called when there is something to eject. */
  onEnd: () => void = () => undefined;

  constructor(services: ShelfServices) {
    this.#services = services;
  }

  /** Takes up what an earlier process of this server has written down. */
  async resume(): Promise<void> {
    for (const record of await this.#services.records.own()) this.#hold(record);
  }

  get kept(): readonly MediaRecord[] {
    return [...this.#kept.values()];
  }

  /** What the BMC of a node has of muster, whichever server serves it. */
  async of(node: string): Promise<MediaRecord | undefined> {
    return this.#services.records.of(node);
  }

  /** An image that the BMC fetches from elsewhere. */
  offerUrl(whom: MediumUser, url: string, what: string): Promise<OfferedMedium> {
    return this.#offer(whom, { url, what });
  }

  /** A file of this server. */
  async offerFile(whom: MediumUser, path: string, what: string): Promise<OfferedMedium> {
    const id = newId();
    const name = basename(path).replaceAll(/[^A-Za-z0-9._-]/g, '_');
    // Some BMCs look at the end of the name.
    const url = await this.#urlOf(whom, id, /\.(iso|img)$/i.test(name) ? name : `${name}.iso`);
    return this.#offer(whom, { id, url, what, file: path });
  }

  /** What the node is set to boot, on a medium with kernel and initial RAM disk: it is needed until these run. */
  async offerBoot(whom: MediumUser, seconds: number): Promise<OfferedMedium> {
    const { index, orders, tokens, loaders, reports, box, serverOf } = this.#services;
    const { node } = whom;
    const { snapshot } = index;
    const reader = effectiveReader(snapshot);
    const address = interfacesOf(reader, node)[0]?.ip;
    if (address === undefined || index.byAddress(address) !== node)
      throw new Fault(
        'invalid',
        'muster needs the address that the node alone has (attribute ip) to boot it from a medium.',
      );
    const { host, port } = await serverOf(address);
    const client = bootClient(address, host, port, 'http');
    // Somebody who may do so is about to restart it.
    await tokens.expectBoot(node);
    const order = await orders.of(node, client);
    if (order.kind === 'local')
      throw new Fault(
        'invalid',
        `its state is "${order.state}": it boots from its disk, for which it needs no medium.`,
      );
    efiImage(loaders, order.arch);
    const script = mediumScript(node, order, macsOf(reader, node)[0], client.authority);
    const parts = {
      arch: order.arch,
      kernel: await this.#fileAt(order.kernel, client),
      initrd: await this.#fileAt(order.initrd, client),
      sealed: box.seal(script, sealContext),
    };
    const id = newId();
    const url = await this.#urlOf(whom, id, 'boot.iso');
    const until = new Date(Date.now() + seconds * 1_000).toISOString();
    const offered = await this.#offer(whom, { id, url, what: `boot medium: ${order.state}`, parts, until });
    reports.note(node, { step: 'loader', text: 'virtual media', at: new Date(), source: 'media' });
    return offered;
  }

  /** The BMC is about to get it. */
  async keep(id: string, drive: string): Promise<void> {
    const record = this.#offered.get(id) ?? this.#byId.get(id);
    if (!record) throw new Fault('unavailable', 'muster was restarted since the medium was made ready. Try again.');
    const kept = { ...record, drive };
    await this.#services.records.put(kept);
    this.#offered.delete(id);
    this.#hold(kept);
  }

  /** The BMC has it no longer, or never got it. */
  async remove(id: string): Promise<void> {
    this.#offered.delete(id);
    const record = this.#byId.get(id);
    if (record) await this.forget(record);
  }

  /** The BMC has nothing of muster any more. */
  async forget(record: MediaRecord): Promise<void> {
    await this.#services.records.remove(record);
    this.#byId.delete(record.id);
    if (this.#kept.get(record.node)?.id === record.id) this.#kept.delete(record.node);
  }

  /** What a node was to boot from is not needed any more: it is ejected soon, and looked after until that is done. */
  async end(node: string): Promise<void> {
    const record = this.#kept.get(node);
    for (const [id, offered] of this.#offered) if (offered.node === node) this.#offered.delete(id);
    if (record?.until === undefined || record.isOver) return;
    const over = { ...record, isOver: true };
    this.#hold(over);
    this.onEnd();
    await this.#services.records.put(over);
  }

  /** `boot/media/ID/NAME`, for whoever knows the address; by TFTP, and to workers, there is nothing. */
  route(): BootRoute {
    return {
      find: async ([first, second, id, name, ...more], { protocol }) => {
        if (`${first}/${second}` !== mediaPath || id === undefined || more.length > 0 || protocol !== 'http')
          return undefined;
        const record = this.#byId.get(id);
        if (!record || new URL(record.url).pathname.split('/').at(-1) !== name) return undefined;
        if (record.file !== undefined) return { kind: 'file', path: record.file, step: 'file' };
        return record.parts && { kind: 'pieces', ...this.#made(record), step: 'file' };
      },
    };
  }

  #made({ parts, since, id }: MediaRecord): { readonly pieces: readonly Piece[]; size: number; tag: string } {
    const { sealed, ...others } = parts!;
    const script = this.#services.box.open(sealed, sealContext);
    return { ...mediumOf(this.#services.loaders, { ...others, script, made: since }), tag: `"${id.slice(0, 8)}"` };
  }

  #hold(record: MediaRecord): void {
    const before = this.#kept.get(record.node);
    if (before && before.id !== record.id) this.#byId.delete(before.id);
    this.#kept.set(record.node, record);
    this.#byId.set(record.id, record);
  }

  async #urlOf({ bmc }: MediumUser, id: string, name: string): Promise<string> {
    return `${await this.#services.mediaBase(bmc)}/${mediaPath}/${id}/${name}`;
  }

  async #offer(
    { node, user }: MediumUser,
    medium: Pick<MediaRecord, 'url' | 'what'> & Partial<MediaRecord>,
  ): Promise<OfferedMedium> {
    const id = medium.id ?? newId();
    const { records } = this.#services;
    const before = await records.of(node);
    const own = ownOf(before);
    // One that is inserted again keeps its address, so that nothing is sent.
    if (
      before &&
      this.#byId.has(before.id) &&
      medium.parts === undefined &&
      (medium.file === undefined ? medium.url === before.url : medium.file === before.file) &&
      own
    )
      return { id: before.id, url: before.url, own };
    this.#offered.set(id, { ...medium, ...records.place, id, node, user, since: new Date().toISOString() });
    if (this.#offered.size > mostOffered) this.#offered.delete(this.#offered.keys().next().value!);
    return { id, url: medium.url, own };
  }

  async #fileAt(path: string, client: BootClient): Promise<PinnedFile> {
    const served = await this.#services.source.find(pathSegments(path) ?? [], client);
    if (served?.found.kind === 'file') return pinned(served.found.path);
    throw new Fault('unavailable', `The file ${path}, which the node is to boot, is not here.`);
  }
}

/** More than a command has nodes. */
const mostOffered = 100_000;

const newId = (): string => randomBytes(18).toString('base64url');

export const ownOf = (record: MediaRecord | undefined): OwnMedium | undefined =>
  record?.drive === undefined ? undefined : { drive: record.drive, url: record.url };
