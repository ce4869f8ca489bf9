import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import type { NodeImage } from '../update/node-image.ts';
import { type BootOrder, bootOrder, type InstallBoot, type Vantage } from './boot-order.ts';
import type { NodeIndex } from './node-index.ts';
import type { BootPacks } from './packs.ts';
import type { Ramdisks } from './ramdisks.ts';
import type { Asker } from './rooms/found.ts';
import type { BootRoom } from './rooms/room.ts';
import { isLocalState, shownBootState } from './states.ts';
import type { BootTokens } from './tokens.ts';

export interface OrderServices {
  readonly index: NodeIndex;
  readonly tokens: BootTokens;
  readonly packs: BootPacks;
  readonly ramdisks: Ramdisks;
  readonly rooms: readonly BootRoom[];
}

/** What machines are to do that ask for a script. */
export class NodeOrders {
  readonly #services: OrderServices;

  constructor(services: OrderServices) {
    this.#services = services;
  }

  /** A Fault says why the node cannot boot what its state wants. */
  async of(node: string, asker: Asker): Promise<BootOrder> {
    const { index, tokens, packs, ramdisks } = this.#services;
    const { snapshot } = index;
    const state = shownBootState(effectiveReader(snapshot), node);
    const isItself = index.byAddress(asker.address) === node;
    // Only the node itself learns its token. One that boots from its disk may still use that of the boot before.
    const token = isItself && !isLocalState(state) ? await tokens.issue(node, state) : undefined;
    if (isItself && token === undefined) await tokens.leaveRamdisk(node);
    const install = this.#install.bind(this);
    return bootOrder(snapshot, node, { packs, ramdisks, install }, { ...asker, token });
  }

  /** For each architecture; none: there is nothing for machines that nobody knows. */
  async ofUnknown(mac: string, asker: Asker): Promise<readonly BootOrder[]> {
    const orders: BootOrder[] = [];
    for (const room of this.#services.rooms)
      orders.push(...((await room.unknown?.(mac, asker, { ...asker, token: undefined })) ?? []));
    return orders;
  }

  async #install(snapshot: Snapshot, node: string, image: NodeImage, vantage: Vantage): Promise<InstallBoot> {
    for (const room of this.#services.rooms) {
      const found = await room.install?.(snapshot, node, image, vantage);
      if (found) return found;
    }
    throw new Fault('invalid', `The image ${image.name} is installed, and nothing here serves an installer for it.`);
  }
}
