import type { Endpoint } from '../endpoint.ts';
import { dhcp } from './dhcp.ts';
import { dns } from './dns.ts';
import { globalconf } from './globalconf.ts';
import { hardware } from './hardware.ts';
import { names } from './names.ts';
import { nodes } from './nodes.ts';
import { nodeState } from './node-state.ts';
import { groups, networks, osimages, policy } from './objects.ts';
import { remote } from './remote.ts';
import { runs } from './runs.ts';
import { services } from './services.ts';
import { slp } from './slp.ts';
import { tables } from './tables.ts';
import { templates } from './templates.ts';
import { tokens } from './tokens.ts';
import { update } from './update.ts';
import { vm } from './vm.ts';

/** Every endpoint of the service. */
export const endpoints: readonly Endpoint[] = [
  ...tokens,
  ...nodes,
  ...hardware,
  ...vm,
  ...nodeState,
  ...remote,
  ...update,
  ...names,
  ...dns,
  ...dhcp,
  ...osimages,
  ...networks,
  ...policy,
  ...groups,
  ...globalconf,
  ...services,
  ...slp,
  ...tables,
  ...templates,
  ...runs,
];
