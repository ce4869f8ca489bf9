import { realpath } from 'node:fs/promises';
import { Fault } from '../../../core/errors.ts';
import type { Store } from '../../../database/store.ts';
import { normalMac } from '../../dhcp/reservations.ts';
import { isBuiltMethod } from '../../images/describe-image.ts';
import { bootOrder, isLocalState } from '../boot-order.ts';
import { ipxeRefusal, ipxeScript, ipxeUnknown } from '../ipxe-script.ts';
import type { Loaders } from '../loaders/loaders.ts';
import type { NodeIndex } from '../node-index.ts';
import { type BootPacks, type PartKind, partKinds, partOf, partPath } from '../packs.ts';
import type { Ramdisks } from '../ramdisks.ts';
import { shownBootState } from '../states.ts';
import type { BootTokens } from '../tokens.ts';
import { effectiveReader } from '../../../objects/effective.ts';
import type { Asker, Found } from './found.ts';
import type { BootRoom } from './room.ts';

export interface CatalogSources {
  readonly store: Store;
  readonly index: NodeIndex;
  readonly tokens: BootTokens;
  readonly packs: BootPacks;
  readonly loaders: Loaders;
  readonly ramdisks: Ramdisks;
  /** What else there is. */
  readonly rooms: readonly BootRoom[];
}

/** Finds what a path leads to, for HTTP and TFTP alike. Only what is named here exists; a directory is nothing. */
export class BootCatalog {
  readonly #sources: CatalogSources;

  constructor(sources: CatalogSources) {
    this.#sources = sources;
  }

  /** Undefined: there is nothing. A Fault `denied` is for those who may not have it. */
  async find(segments: readonly string[], asker: Asker): Promise<Found | undefined> {
    const own = await this.#find(segments, asker);
    if (own) return own;
    for (const room of this.#sources.rooms) {
      const found = await room.find?.(segments, asker);
      if (found) return found;
    }
    return undefined;
  }

  async #find(segments: readonly string[], asker: Asker): Promise<Found | undefined> {
    const [first, second, ...rest] = segments;
    if (second === undefined) return this.#loader(first!, asker);
    if (first !== 'boot') return undefined;
    if (rest.length === 0) return this.#script(second, asker);
    if (second === 'loaders' && rest.length === 1) return this.#loader(rest[0]!, asker);
    if (second === 'images' && rest.length === 3) return this.#imageFile(rest[0]!, rest[1]!, rest[2]!, asker);
    if (second === 'ramdisk' && rest.length === 2) return this.#ramdiskFile(rest[0]!, rest[1]!, asker);
    return undefined;
  }

  #nodeOf({ address }: Asker): string | undefined {
    const { index, store } = this.#sources;
    return index.byAddress(store.current, address);
  }

  async #loader(name: string, asker: Asker): Promise<Found | undefined> {
    const path = this.#sources.loaders.find(name);
    if (path === undefined) return undefined;
    return { kind: 'file', path: await realpath(path), node: this.#nodeOf(asker), step: 'loader' };
  }

  async #script(name: string, asker: Asker): Promise<Found | undefined> {
    const mac = /^(.+)\.ipxe$/.exec(name)?.[1];
    const plain = mac === undefined ? undefined : normalMac(mac);
    if (plain === undefined) return undefined;
    const { store, index } = this.#sources;
    const snapshot = store.current;
    const node = index.byMac(snapshot, plain);
    if (node === undefined) return { kind: 'text', text: await this.#unknown(plain, asker), step: 'script' };
    try {
      const state = shownBootState(effectiveReader(snapshot), node);
      // Only the node itself learns its token. One that boots from its disk may still use that of the boot before.
      const isOwn = this.#nodeOf(asker) === node && !isLocalState(state);
      const token = isOwn ? await this.#sources.tokens.issue(node, state) : undefined;
      const order = await bootOrder(snapshot, node, this.#sources, { ...asker, token });
      const leadsTo = order.kind === 'load' ? order.leadsTo : 'booting';
      return { kind: 'text', text: ipxeScript(node, order, asker.authority), node, step: 'script', leadsTo };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { kind: 'text', text: ipxeRefusal(`${node}: ${error.message}`), node, step: 'script', leadsTo: 'failed' };
    }
  }

  async #unknown(mac: string, asker: Asker): Promise<string> {
    for (const room of this.#sources.rooms) {
      const order = await room.unknown?.(mac, asker, { ...asker, token: undefined });
      if (order) return ipxeScript(mac, order, asker.authority);
    }
    return ipxeUnknown();
  }

  async #imageFile(image: string, id: string, kind: string, asker: Asker): Promise<Found | undefined> {
    if (!(partKinds as readonly string[]).includes(kind)) return undefined;
    const node = this.#nodeOf(asker);
    if (node === undefined)
      throw new Fault('denied', `The address ${asker.address} is that of no node, so it gets no image.`);
    const snapshot = this.#sources.store.current;
    const row = snapshot.get('osimage', image);
    const method = row?.['provmethod'];
    if (!isBuiltMethod(method)) return undefined;
    const pack = await this.#sources.packs.named(snapshot, image, id);
    if (!pack) return undefined;
    const path = partPath(pack, partOf(pack, kind as PartKind, method));
    return { kind: 'file', path, node, step: kind as PartKind };
  }

  async #ramdiskFile(arch: string, name: string, asker: Asker): Promise<Found | undefined> {
    const path = this.#sources.ramdisks.file(arch, name);
    const step = name === 'kernel' ? 'kernel' : 'initrd';
    if (path === undefined) return undefined;
    return { kind: 'file', path: await realpath(path), node: this.#nodeOf(asker), step };
  }
}
