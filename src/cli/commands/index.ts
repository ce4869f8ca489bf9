import type { CommandEntry } from '../invocation.ts';

/** Every command by its name. A file is loaded only when its command is called, so that each starts as fast as if it were alone. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  help: { own: true, summary: 'List all commands', load: () => import('./help.ts') },
  links: { own: true, summary: 'Make links named like the commands', load: () => import('./links.ts') },
  lsdef: { summary: 'List definitions', load: () => import('./lsdef.ts') },
  rbeacon: { summary: 'Switch the light that identifies a machine', load: () => import('./rbeacon.ts') },
  rbootseq: { summary: 'What nodes try to boot from', load: () => import('./rbootseq.ts') },
  renergy: { summary: 'Power consumption and its limits', load: () => import('./renergy.ts') },
  reventlog: { summary: 'Event logs of the hardware', load: () => import('./reventlog.ts') },
  rinv: { summary: 'What the hardware is', load: () => import('./rinv.ts') },
  rpower: { summary: 'Power of nodes', load: () => import('./rpower.ts') },
  rsetboot: { summary: 'What nodes boot from next', load: () => import('./rsetboot.ts') },
  rspconfig: { summary: 'Settings of service processors', load: () => import('./rspconfig.ts') },
  rvitals: { summary: 'Sensors of nodes', load: () => import('./rvitals.ts') },
};
