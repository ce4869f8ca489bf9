import type { Endpoint } from '../endpoint.ts';
import { globalconf } from './globalconf.ts';
import { hardware } from './hardware.ts';
import { nodes } from './nodes.ts';
import { groups, networks, osimages, policy } from './objects.ts';
import { runs } from './runs.ts';
import { services } from './services.ts';
import { tables } from './tables.ts';
import { templates } from './templates.ts';
import { tokens } from './tokens.ts';

/** Every endpoint of the service. */
export const endpoints: readonly Endpoint[] = [
  ...tokens,
  ...nodes,
  ...hardware,
  ...osimages,
  ...networks,
  ...policy,
  ...groups,
  ...globalconf,
  ...services,
  ...tables,
  ...templates,
  ...runs,
];
