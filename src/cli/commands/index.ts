import type { CommandEntry } from '../invocation.ts';

/** Every command by its name. A file is loaded only when its command is called, so that each starts as fast as if it were alone. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  help: { own: true, summary: 'List all commands', load: () => import('./help.ts') },
  links: { own: true, summary: 'Make links named like the commands', load: () => import('./links.ts') },
  lsdef: { summary: 'List definitions', load: () => import('./lsdef.ts') },
};
