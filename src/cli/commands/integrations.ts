import type { CommandEntry } from '../invocation.ts';

/** What other tools read. */
export const integrations: Readonly<Record<string, CommandEntry>> = {
  clustershell: { own: true, summary: 'Groups for ClusterShell', load: () => import('./clustershell.ts') },
  genders: { own: true, summary: 'A genders file', load: () => import('./genders.ts') },
  groups: { own: true, summary: 'Groups of nodes', load: () => import('./groups.ts') },
  inventory: { own: true, summary: 'The inventory for Ansible', load: () => import('./inventory.ts') },
  slurm: { own: true, summary: 'Nodes and partitions for Slurm', load: () => import('./slurm.ts') },
};
