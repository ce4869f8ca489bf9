import type { Ground } from '../access/ground.ts';
import { AddressGuard } from '../core/address-guard.ts';
import type { ValuesOf } from '../core/settings.ts';
import type { RemoteHosts } from '../drivers/index.ts';
import type { Names } from '../names/index.ts';
import { discoverySettings, NetworkDiscovery } from './discovery/discovery.ts';
import { NodeProbes } from './node-probes.ts';
import { NodeStatus } from './node-status.ts';
import { RemoteNode, RemoteNodes } from './remote/remote-nodes.ts';
import { openRemoteNodes, Remote, remoteHosts, remoteSettings } from './remote/remote.ts';
import { RemovedNodes } from './removed-nodes.ts';
import { openSshKeys, SshHostKeys } from './ssh-keys.ts';
import { placeStockScripts } from './update/postscripts.ts';

export { KnownNodes } from './discovery/rows.ts';
export { checkImageAddress, checkMediaAddress, imageOf, shownAddress } from './firmware-images.ts';
export { type EffectHandlers, Effects, nodeEffects } from './effects.ts';
export {
  type Application,
  applicationsOf,
  applicationStatus,
  monitoredApplications,
  usualApplications,
} from './node-probes.ts';
export { type Cargo, type CargoItem, type CargoRoot, copyAllowance, pathKey } from './remote/cargo.ts';
export { checkLinksLeadDown, type ClientFiles } from './remote/client-files.ts';
export { type CargoSource, LocalFiles } from './remote/local-files.ts';
export { deliver } from './remote/place.ts';
export { instructionFor } from './remote/shell-command.ts';
export {
  type CopyBody,
  lineAs,
  readCopyRequest,
  readShellRequest,
  type ShellRequest,
  shellSchema,
  withPath,
} from './remote/shell-request.ts';
export { keysOf, openAccess, type RemoteAccess } from './remote/access.ts';
export {
  actingUser,
  isAllowedByParameters,
  isLimitedByParameters,
  mayBringFiles,
  type RemoteTarget,
} from './remote/targets.ts';
export { messagesOf, readRealText } from './update/findings.ts';
export {
  nodePlan,
  type NodePlan,
  pathOnNode,
  type PlannedRule,
  sourceOf,
  type WantedTree,
} from './update/node-plan.ts';
export { joinings } from './update/joined-files.ts';
export { checkAppends, dueMark, scriptsFor, syncStorage } from './update/sync-node.ts';
export { type PackageStep, readPackageLists, withoutDirectories } from './update/package-list.ts';
export {
  ownScripts,
  planUpdate,
  scriptEnvironment,
  type UpdateJob,
  type UpdateSteps,
  updateRoots,
  type UpdateTarget,
  usable,
} from './update/plan-update.ts';
export {
  hasScript,
  missingScript,
  parsePostscript,
  type Postscript,
  scriptDirectory,
  scriptsOf,
} from './update/postscripts.ts';
export { PackageLists, type SoftwareName, softwareScript } from './update/software.ts';
export { type FoundList, SyncLists } from './update/synclist.ts';
export { NodeUpdate } from './update/update-node.ts';
export { openRemoteNodes };
export { HardwareEventWatch } from './hardware-events/watch.ts';
export { hardwareEventSettings } from './hardware-events/settings.ts';
export {
  budgetIn,
  budgetsIn,
  budgetTable,
  checkWatts,
  nodesOfBudget,
} from './power-budgets/budget-rows.ts';
export { PowerBudgets } from './power-budgets/keeper.ts';
export { powerBudgetSettings } from './power-budgets/settings.ts';
export { type SeriesKind, seriesKinds } from './series/measures.ts';
export { mostWatched } from './series/sampler.ts';
export { seriesSettings } from './series/settings.ts';
export { type SeriesView, VitalsSeries } from './series/vitals-series.ts';
export { assignDuties } from './duties.ts';
export { assignedNodes, workerFinder } from './service-nodes.ts';
export { discoverySettings, NetworkDiscovery, NodeProbes, NodeStatus, openSshKeys, Remote, RemoteNode, RemoteNodes };
export { remoteSettings, RemovedNodes, SshHostKeys };

interface NodeSettings {
  readonly remote: ValuesOf<typeof remoteSettings>;
  readonly discovery: ValuesOf<typeof discoverySettings>;
}

/** Running nodes. */
export interface Nodes {
  /** Who may send what to nodes, and which files. */
  readonly remote: Remote;
  /** Connections to nodes. */
  readonly connections: RemoteNodes;
  readonly hostKeys: SshHostKeys;
  readonly probes: NodeProbes;
  readonly status: NodeStatus;
  readonly announcements: NetworkDiscovery;
  readonly removedNodes: RemovedNodes;
  /** Nodes as drivers reach them, such as hypervisors. */
  readonly hosts: RemoteHosts;
}

export async function openNodes(
  { remote: settings, discovery }: NodeSettings,
  ground: Ground,
  names: Names,
): Promise<Nodes> {
  const { data, store, box, log } = ground;
  const keys = await openSshKeys(data);
  const remote = new Remote(settings, { data, hosts: names.hosts, keys, box });
  const hostKeys = new SshHostKeys(store, settings.hostKeys);
  const connections = openRemoteNodes(settings, keys, hostKeys);
  if (settings.postscripts === undefined) placeStockScripts(remote.postscripts);
  const failed = (error: unknown): void => log.error({ err: error }, 'the status of nodes could not be written');
  return {
    remote,
    connections,
    hostKeys,
    probes: new NodeProbes(new AddressGuard(settings.networks, 'node')),
    status: new NodeStatus(store, failed),
    announcements: new NetworkDiscovery(discovery),
    removedNodes: new RemovedNodes({ store, log, ...names }),
    hosts: remoteHosts(store, remote, connections),
  };
}
