import type { CommandEntry } from '../invocation.ts';

/** Commands that reach nodes themselves. */
export const remote: Readonly<Record<string, CommandEntry>> = {
  nodestat: { summary: 'Whether nodes answer, and what runs there', load: () => import('./nodestat.ts') },
  pping: { summary: 'Whether nodes answer', load: () => import('./pping.ts') },
  ppping: { summary: 'Whether nodes reach each other', load: () => import('./ppping.ts') },
  pscp: { summary: 'Copy files to nodes', load: () => import('./pscp.ts') },
  psh: { summary: 'Run commands on nodes', load: () => import('./psh.ts') },
  prsync: { summary: 'Copy files to nodes', load: () => import('./prsync.ts') },
  updatenode: { summary: 'Bring nodes up to date', load: () => import('./updatenode.ts') },
  xdcp: { summary: 'Copy files to nodes', load: () => import('./xdcp.ts') },
  xdsh: { summary: 'Run commands on nodes', load: () => import('./xdsh.ts') },
  makeknownhosts: { summary: 'Host keys of nodes for ssh', load: () => import('./makeknownhosts.ts') },
  makentp: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
};
