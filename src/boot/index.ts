import type { Ground } from '../access/ground.ts';
import type { Drivers } from '../drivers/index.ts';
import type { Images } from '../images/index.ts';
import type { Names } from '../names/index.ts';
import type { Nodes } from '../nodes/index.ts';
import { BootServer } from './boot-server.ts';
import { MachineDiscovery } from './discovery/machines.ts';
import { discoveryRoute } from './discovery/route.ts';
import { Switches } from './discovery/switches.ts';
import { type BootSettings, bootSettings } from './settings.ts';

export { answersWith } from './answers/answer-files.ts';
export { BootWatch, goalOf } from './boot-watcher.ts';
export { diagnose } from './diagnosis.ts';
export type { Machine } from './discovery/machine.ts';
export { closeRanges, freeNodes, openRange, openRanges } from './discovery/ranges.ts';
export type { Unmatched } from './discovery/unmatched.ts';
export { checkNode, checkProvisioned, withReservations } from './prepare-boot.ts';
export type { Boot, BootNote } from './reports.ts';
export { type BootStates, parseBootStates, planBootStates, shownBootState, stateTables } from './states.ts';
export { BootServer, bootSettings, MachineDiscovery };

interface BootServices {
  readonly images: Images;
  readonly names: Names;
  readonly nodes: Nodes;
  readonly drivers: Pick<Drivers, 'guard'>;
  /** Networks that BMCs are in. */
  readonly bmcNetworks: readonly string[] | undefined;
}

/** What machines boot from, and those that nobody has defined. */
export function openBoot(
  settings: BootSettings,
  { data, store, box, log }: Ground,
  {
    images,
    names: { dhcp, hosts },
    nodes: { status, hostKeys, remote },
    drivers: { guard },
    bmcNetworks,
  }: BootServices,
): { readonly boot: BootServer; readonly machines: MachineDiscovery } {
  const { postscripts } = remote;
  const boot = new BootServer(settings, { data, store, log, images, status, hostKeys, dhcp, postscripts });
  const switches = new Switches({ box, hosts, guard, log });
  const { index } = boot;
  const machines = new MachineDiscovery({ store, dhcp, log, index, switches, processorNetworks: bmcNetworks });
  const ramdisk = (arch: string) => boot.ramdisks.paths(arch);
  boot.routes.push(discoveryRoute({ machines, snapshot: () => store.current, ramdisk }));
  return { boot, machines };
}
