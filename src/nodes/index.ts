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
export { type EffectHandlers, Effects, nodeEffects } from './effects.ts';
export {
  type Application,
  applicationsOf,
  applicationStatus,
  monitoredApplications,
  usualApplications,
} from './node-probes.ts';
export { type CargoItem, type CargoRoot, copyAllowance } from './remote/cargo.ts';
export { LocalFiles } from './remote/local-files.ts';
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
export { actingUser, isAllowedByParameters, type RemoteTarget } from './remote/targets.ts';
export { messagesOf, readRealText } from './update/findings.ts';
export { nodePlan, pathOnNode, type PlannedRule } from './update/node-plan.ts';
export { type PackageStep, readPackageLists, withoutDirectories } from './update/package-list.ts';
export {
  ownScripts,
  planUpdate,
  scriptEnvironment,
  type UpdateJob,
  type UpdateSteps,
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
export { type FoundList, SyncLists } from './update/synclist.ts';
export { NodeUpdate } from './update/update-node.ts';
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

export function openNodes({ remote: settings, discovery }: NodeSettings, ground: Ground, names: Names): Nodes {
  const { data, store, box, log } = ground;
  const keys = openSshKeys(data);
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
