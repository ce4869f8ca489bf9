import { attributes, columns } from './columns.ts';
import type { Endpoint } from './endpoint.ts';
import { boot } from './boot.ts';
import { definitionSets } from './definition-sets.ts';
import { changes } from './changes.ts';
import { dhcp, dns, names } from './names.ts';
import { discovery, services, slp } from './discovery.ts';
import { discoveryOfTargets, eventRows } from './events.ts';
import { globalconf, groups, networks, osimages, policy, templates } from './objects.ts';
import { hardware } from './hardware.ts';
import { imageInstance, images } from './images.ts';
import { nodes, nodeState } from './nodes.ts';
import { remote, update } from './remote.ts';
import { runs } from './runs.ts';
import { dumps, tables } from './tables.ts';
import { tokens } from './tokens.ts';
import { vm } from './vm.ts';

/** Every endpoint of the service. */
export const endpoints: readonly Endpoint[] = [
  ...tokens,
  ...columns,
  ...nodes,
  ...hardware,
  ...boot,
  ...discovery,
  ...vm,
  ...nodeState,
  ...remote,
  ...update,
  ...names,
  ...dns,
  ...dhcp,
  ...osimages,
  ...images,
  ...imageInstance,
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
  ...eventRows,
  ...discoveryOfTargets,
];
