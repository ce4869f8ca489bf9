import type { CommandEntry } from '../invocation.ts';

/** Names, addresses and networks. */
export const services: Readonly<Record<string, CommandEntry>> = {
  makedhcp: { summary: 'Serve and reserve addresses', load: () => import('./makedhcp.ts') },
  makedns: { summary: 'Names in DNS', load: () => import('./makedns.ts') },
  makehosts: { summary: 'The hosts file', load: () => import('./makehosts.ts') },
  makenetworks: { summary: 'Define the networks of this machine', load: () => import('./makenetworks.ts') },
  makeroutes: { summary: 'Routes', load: () => import('./makeroutes.ts') },
};
