import { attributes } from './attributes.ts';
import type { Endpoint } from '../endpoint.ts';
import { boot } from './boot.ts';
import { definitionSets } from './definition-sets.ts';
import { columns } from './columns.ts';
import { changes } from './changes.ts';
import { dhcp } from './dhcp.ts';
import { discovery } from './discovery.ts';
import { discoveryOfTargets, eventRows } from './events.ts';
import { globalconf } from './globalconf.ts';
import { hardware } from './hardware.ts';
import { imageInstance } from './image-instance.ts';
import { images } from './images.ts';
import { dns, names } from './names.ts';
import { nodes, nodeState } from './nodes.ts';
import { groups, networks, osimages, policy, templates } from './objects.ts';
import { remote } from './remote.ts';
import { runs } from './runs.ts';
import { services, slp } from './services.ts';
import { dumps } from './dumps.ts';
import { tables } from './tables.ts';
import { tokens } from './tokens.ts';
import { update } from './update.ts';
import { vm } from './vm.ts';

/** Every endpoint of the service. */
export const endpoints: readonly Endpoint[] = [
  ...tokens,
  ...nodes,
  ...columns,
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
