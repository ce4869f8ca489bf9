import type { Ground } from '../access/ground.ts';
import type { Workers } from '../bus/index.ts';
import { listItems } from '../core/list-items.ts';
import type { News } from '../database/news.ts';
import type { Servers } from '../database/servers.ts';
import type { Drivers } from '../drivers/index.ts';
import type { EventHub } from '../events/index.ts';
import type { Images } from '../images/index.ts';
import type { Names } from '../names/index.ts';
import type { Nodes } from '../nodes/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { BootServer } from './boot-server.ts';
import { MachineDiscovery } from './discovery/machines.ts';
import { discoveryRoute } from './discovery/route.ts';
import { Switches } from './discovery/switches.ts';
import { WorkerBoots } from './server/worker-boots.ts';
import { type BootSettings, bootSettings } from './settings.ts';

export { answersWith } from './answers/answer-files.ts';
export { BootWatch, goalOf, goalOnMedium } from './boot-watcher.ts';
export { changedSince } from './decision.ts';
export { diagnose } from './diagnosis.ts';
export type { Machine } from './discovery/machine.ts';
export { closeRanges, freeNodes, openRange, openRanges } from './discovery/ranges.ts';
export type { Unmatched } from './discovery/unmatched.ts';
export { checkUnused } from './image-users.ts';
export { isAsSet, rowsOfState, type StateRows, undoState } from './former-state.ts';
export { MediaEjector } from './media/media-ejector.ts';
export { type MediaShelf, type OfferedMedium, ownOf } from './media/media-shelf.ts';
export { bringOverlay, overlaysAtOnce } from './overlays/bring-overlay.ts';
export { barredEntries } from './overlays/overlay-tree.ts';
export { checkNode, checkProvisioned, withReservations } from './prepare-boot.ts';
export type { PastBoot } from './past-boots.ts';
export { imagesWanted, type ReadinessByImage } from './readiness.ts';
export type { Boot, BootNote } from './reports.ts';
export {
  type BootStates,
  isImageState,
  parseBootStates,
  planBootStates,
  shownBootState,
  stateTables,
} from './states.ts';
export { type BootAnswer, type BootQuestion, readBootAnswer } from './server/boot-questions.ts';
export type { BootSource, Fetched, Served } from './server/catalog.ts';
export { HttpListener } from './server/http-listener.ts';
export { listenTftp } from './server/tftp-listener.ts';
export type { BootClient, Found, Taken } from './routes/route.ts';
export { BootServer, bootSettings, type BootSettings, MachineDiscovery };

interface BootServices {
  readonly images: Images;
  readonly names: Names;
  readonly nodes: Nodes;
  readonly drivers: Pick<Drivers, 'guard'>;
  readonly events: Pick<EventHub, 'boot' | 'notice'>;
  /** Networks that BMCs are in. */
  readonly bmcNetworks: readonly string[] | undefined;
  readonly news: News | undefined;
  readonly servers: Pick<Servers, 'id' | 'name' | 'machine'>;
}

/** Lets workers serve machines that boot: for their own nodes, if their attribute setuptftp says so. */
export function answerWorkers(workers: Workers, boot: BootServer, { store, log }: Pick<Ground, 'store' | 'log'>): void {
  const attribute = (node: string, name: string): string =>
    nodeAttribute(effectiveReader(store.current), node, name) ?? '';
  const boots = new WorkerBoots({
    source: boot.source,
    log,
    objection: (worker) =>
      attribute(worker, 'setuptftp') === '1'
        ? undefined
        : `The service node ${worker} serves no boot files; chdef -t node ${worker} setuptftp=1 lets it.`,
    serves: (worker, node) => listItems(attribute(node, 'servicenode')).includes(worker),
    nodeAt: (address) => boot.index.byAddress(address),
  });
  workers.answerBy((worker, channel) => void boots.answer(worker, channel));
}

/** What machines boot from, and those that nobody has defined. */
export function openBoot(
  settings: BootSettings,
  { data, store, box, log }: Ground,
  {
    images,
    names: { nodeDhcp: dhcp, dhcp: bootServers, hosts },
    nodes: { status, hostKeys, remote, connections },
    drivers: { guard },
    events,
    bmcNetworks,
    news,
    servers,
  }: BootServices,
): { readonly boot: BootServer; readonly machines: MachineDiscovery } {
  const nodes = { status, hostKeys, remote, connections };
  const surroundings = { data, store, log, images, box, ...nodes, dhcp, bootServers, events, news, servers };
  const boot = new BootServer(settings, surroundings);
  const switches = new Switches({ box, hosts, guard, log });
  const { index, readiness } = boot;
  const machines = new MachineDiscovery({
    store,
    dhcp,
    log,
    index,
    switches,
    readiness,
    processorNetworks: bmcNetworks,
  });
  const ramdisk = (arch: string) => boot.ramdisks.paths(arch);
  boot.routes.push(discoveryRoute({ machines, snapshot: () => store.current, ramdisk }));
  return { boot, machines };
}
