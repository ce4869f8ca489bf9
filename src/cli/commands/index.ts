import type { CommandEntry } from '../invocation.ts';
import { booting } from './booting.ts';
import { hardware } from './hardware.ts';
import { integrations } from './integrations.ts';
import { own } from './own.ts';
import { remote } from './remote.ts';
import { services } from './services.ts';

/** Every command by its name. A file is loaded only when its command is called, so that each starts as fast as if it were alone. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  chdef: { summary: 'Change definitions', load: () => import('./chdef.ts') },
  help: { own: true, summary: 'List all commands', load: () => import('./help.ts') },
  links: { own: true, summary: 'Make links named like the commands', load: () => import('./links.ts') },
  lsdef: { summary: 'List definitions', load: () => import('./lsdef.ts') },
  mkdef: { summary: 'Make definitions', load: () => import('./mkdef.ts') },
  rmdef: { summary: 'Remove definitions', load: () => import('./rmdef.ts') },
  chtab: { summary: 'Change rows of tables', load: () => import('./chtab.ts') },
  dumpxCATdb: { summary: 'Write all tables to files', load: () => import('./dumpxCATdb.ts') },
  gettab: { summary: 'Show columns of a row', load: () => import('./gettab.ts') },
  lskit: { summary: 'List software kits', load: () => import('./lskit.ts') },
  lsxcatd: { summary: 'Tell of the server', load: () => import('./lsxcatd.ts') },
  nodeadd: { summary: 'Make nodes', load: () => import('./nodeadd.ts') },
  nodech: { summary: 'Change columns of nodes', load: () => import('./nodech.ts') },
  nodegrpch: { summary: 'Change columns of groups', load: () => import('./nodegrpch.ts') },
  nodels: { summary: 'List nodes and columns of tables', load: () => import('./nodels.ts') },
  nodepurge: { summary: 'Remove nodes', load: () => import('./nodepurge.ts') },
  noderm: { summary: 'Remove nodes', load: () => import('./noderm.ts') },
  restorexCATdb: { summary: 'Replace all tables by files', load: () => import('./restorexCATdb.ts') },
  tabch: { summary: 'Change rows of tables', load: () => import('./tabch.ts') },
  tabdump: { summary: 'Show tables', load: () => import('./tabdump.ts') },
  tabedit: { summary: 'Edit a table', load: () => import('./tabedit.ts') },
  tabgrep: { summary: 'List the tables that have rows of nodes', load: () => import('./tabgrep.ts') },
  tabprune: { summary: 'Remove the rows of a table', load: () => import('./tabprune.ts') },
  tabrestore: { summary: 'Replace a table by a file', load: () => import('./tabrestore.ts') },
  xcoll: { summary: 'Fold equal output of nodes', load: () => import('./xcoll.ts') },
  xdshbak: { summary: 'Show output below the names of nodes', load: () => import('./xdshbak.ts') },
  ...booting,
  ...hardware,
  ...integrations,
  ...own,
  ...remote,
  ...services,
  chzone: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  mkzone: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  monls: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  nodeimport: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  regnotif: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  rmzone: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
  swapnodes: { summary: 'Not here; tells what serves instead', load: () => import('./absent.ts') },
};
