import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
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
  readonly log: Logger;
}

const warnedAgain = 3_600_000;

/** What becomes of a node without a token, and what to do. */
const withoutToken =
  'if it was a user of the node, all is well. If it has started anew by itself, it runs no scripts of its first boot and its SSH host key is not known: start it again by rpower or nodeset, let muster serve DHCP there (makedhcp -n), or see the setting boot.newBoots.';

/** What machines are to do that ask for a script. */
export class NodeOrders {
  readonly #services: OrderServices;
  /** When it was told of a node. */
  readonly #warned = new Map<string, number>();

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
    const isLocal = isLocalState(state);
    const token = isItself && !isLocal ? await tokens.issue(node, state, asker.address) : undefined;
    if (isItself && isLocal) await tokens.leaveRamdisk(node);
    if (isItself && !isLocal && token === undefined) this.#warn(node);
    const install = this.#install.bind(this);
    return bootOrder(snapshot, node, { packs, ramdisks, install }, { ...asker, token });
  }

  /** Once a node and hour: whoever can fetch its script could fill the log. */
  #warn(node: string): void {
    const now = Date.now();
    if ((this.#warned.get(node) ?? -Infinity) + warnedAgain > now) return;
    this.#warned.set(node, now);
    this.#services.log.warn(
      `the boot script of ${node} was fetched from its address, though its system runs and nothing shows a new boot, so it got no token: ${withoutToken}`,
    );
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
