import type { CommandEntry } from '../invocation.ts';

/** Commands that the reference system does not have. */
export const own: Readonly<Record<string, CommandEntry>> = {
  apply: { own: true, summary: 'Make definitions match a file', load: () => import('./apply.ts') },
  changes: { own: true, summary: 'Show what was changed', load: () => import('./changes.ts') },
  completion: {
    own: true,
    summary: 'Print a script that completes commands in a shell',
    load: () => import('./completion.ts'),
  },
  contexts: {
    own: true,
    summary: 'List the servers that were logged in to, or choose one',
    load: () => import('./contexts.ts'),
  },
  doctor: { own: true, summary: 'Look whether this client can work', load: () => import('./doctor.ts') },
  edit: { own: true, summary: 'Edit definitions', load: () => import('./edit.ts') },
  events: { own: true, summary: 'Tell what happens, as it happens', load: () => import('./events.ts') },
  explain: {
    own: true,
    summary: 'Tell where a value comes from, or why a command is allowed',
    load: () => import('./explain.ts'),
  },
  export: { own: true, summary: 'Write definitions for apply, with --format', load: () => import('./export.ts') },
  manpages: { own: true, summary: 'Write pages of the manual', load: () => import('./manpages.ts') },
  login: { own: true, summary: 'Log in to a server', load: () => import('./login.ts') },
  logout: { own: true, summary: 'End a login', load: () => import('./logout.ts') },
  runs: { own: true, summary: 'List, show, follow and cancel runs', load: () => import('./runs.ts') },
  undo: { own: true, summary: 'Take back a change', load: () => import('./undo.ts') },
};
