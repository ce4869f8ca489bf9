import { powerBudgets } from './power-budgets.ts';
import { attributes, columns } from './columns.ts';
import type { Endpoint } from './endpoint.ts';
import { bmc } from './bmc.ts';
import { bios } from './bios.ts';
import { boot } from './boot.ts';
import { definitionSets } from './definition-sets.ts';
import { changes } from './changes.ts';
import { consoles } from './consoles.ts';
import { doctor } from './doctor.ts';
import { dhcp, dns, names } from './names.ts';
import { discovery, services, slp } from './discovery.ts';
import { discoveryOfTargets, eventRows } from './events.ts';
import { globalconf, groups, networks, osimages, policy, templates } from './objects.ts';
import { firmware } from './firmware.ts';
import { hardware } from './hardware.ts';
import { nodeMedia } from './node-media.ts';
import { captures } from './captures.ts';
import { imageInstance, images, media } from './images.ts';
import { kits } from './kits.ts';
import { nodeLists } from './node-lists.ts';
import { nodes, nodeState } from './nodes.ts';
import { posture } from './posture.ts';
import { remote, update } from './remote.ts';
import { runs } from './runs.ts';
import { series } from './series.ts';
import { servers } from './servers.ts';
import { serviceNodes } from './service-nodes.ts';
import { dumps, tables } from './tables.ts';
import { session } from './session.ts';
import { tokens } from './tokens.ts';
import { vm } from './vm.ts';

/** Every endpoint of the service. */
export const endpoints: readonly Endpoint[] = [
  ...tokens,
  ...session,
  ...columns,
  ...nodeLists,
  ...nodes,
  ...hardware,
  ...series,
  ...bmc,
  ...bios,
  ...consoles,
  ...posture,
  ...doctor,
  ...firmware,
  ...nodeMedia,
  ...boot,
  ...discovery,
  ...vm,
  ...nodeState,
  ...remote,
  ...update,
  ...serviceNodes,
  ...names,
  ...dns,
  ...dhcp,
  ...osimages,
  ...images,
  ...imageInstance,
  ...media,
  ...captures,
  ...kits,
  ...networks,
  ...policy,
  ...groups,
  ...globalconf,
  ...definitionSets,
  ...services,
  ...slp,
  ...dumps,
  ...tables,
  ...templates,
  ...attributes,
  ...changes,
  ...runs,
  ...servers,
  ...powerBudgets,
  ...eventRows,
  ...discoveryOfTargets,
];
