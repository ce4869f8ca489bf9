import type { CommandEntry } from '../invocation.ts';

/** Commands that the reference system does not have. */
export const own: Readonly<Record<string, CommandEntry>> = {
  contexts: {
    own: true,
    summary: 'List the servers that were logged in to, or choose one',
    load: () => import('./contexts.ts'),
  },
  login: { own: true, summary: 'Log in to a server', load: () => import('./login.ts') },
  logout: { own: true, summary: 'End a login', load: () => import('./logout.ts') },
};
