import type { CommandEntry } from '../invocation.ts';

/** Commands on the hardware of nodes. */
export const hardware: Readonly<Record<string, CommandEntry>> = {
  bmcdiscover: { summary: 'Find service processors', load: () => import('./bmcdiscover.ts') },
  getmacs: { summary: 'MAC addresses of nodes', load: () => import('./getmacs.ts') },
  lsslp: { summary: 'Find devices that announce themselves', load: () => import('./lsslp.ts') },
  rbeacon: { summary: 'Switch the light that identifies a machine', load: () => import('./rbeacon.ts') },
  rbootseq: { summary: 'What nodes try to boot from', load: () => import('./rbootseq.ts') },
  rcons: { summary: 'Consoles of nodes', load: () => import('./rcons.ts') },
  renergy: { summary: 'Power consumption and its limits', load: () => import('./renergy.ts') },
  reventlog: { summary: 'Event logs of the hardware', load: () => import('./reventlog.ts') },
  rflash: { summary: 'Firmware of nodes', load: () => import('./rflash.ts') },
  rinv: { summary: 'What the hardware is', load: () => import('./rinv.ts') },
  rpower: { summary: 'Power of nodes', load: () => import('./rpower.ts') },
  rscan: { summary: 'What is behind a chassis', load: () => import('./rscan.ts') },
  rsetboot: { summary: 'What nodes boot from next', load: () => import('./rsetboot.ts') },
  rspconfig: { summary: 'Settings of service processors', load: () => import('./rspconfig.ts') },
  rvitals: { summary: 'Sensors of nodes', load: () => import('./rvitals.ts') },
  makeconservercf: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  makegocons: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  rshutdown: { summary: 'Shut hypervisors down', load: () => import('./rshutdown.ts') },
  switchdiscover: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
};
