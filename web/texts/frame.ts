// What is around every page, and what leads to the pages.
import { audit } from './audit.ts';
import { common } from './common.ts';
import { groups } from './groups.ts';
import { texts as images } from './images.ts';
import { networks } from './networks.ts';
import { policies } from './policies.ts';
import { changes, runs } from './runs.ts';
import { texts as serial } from './serial.ts';
import { texts as servers } from './servers.ts';
import { tables } from './tables.ts';

/** The names of pages. */
export const pageNames = {
  overview: 'Overview',
  nodes: 'Nodes',
  groups: groups.title,
  consoles: serial.consoles,
  machines: 'Machines',
  images: images.title,
  networks: networks.title,
  runs: runs.title,
  changes: changes.title,
  audit: audit.title,
  policies: policies.title,
  tables: tables.title,
  servers: servers.title,
} as const;

export const frame = {
  sections: { cluster: 'Cluster', boot: 'Boot', activity: 'Activity', management: 'Management' },
  pages: 'Pages',
  mainPages: 'Main pages',
  allPages: 'All pages',
  more: 'More',
  manual: 'Manual',
  signOut: 'Sign out',
  limited: (user: string) => `${user} (limited)`,
  theme: 'Theme',
  themes: { system: 'system', light: 'light', dark: 'dark' },
  connection: { live: 'live', connecting: 'connecting', lost: common.notConnected },
  lost: 'The connection to the server is lost; what you see may be old. The console connects again by itself.',
  noPage: 'There is no page here',
  toOverview: 'Go to the [overview].',
  reload: (problem: string) => `${problem} Reload the page to try again.`,
} as const;

export const keys = {
  title: 'Keys',
  mark: '?',
  call: 'Ctrl K',
  before: [
    ['/', 'select nodes'],
    ['Ctrl K', 'go to a page, a node or an action by its name'],
  ],
  page: (key: string, name: string) => [`g ${key}`, name.toLowerCase()] as const,
  after: [
    ['arrow keys', 'move in the grid of nodes; Space selects, Enter opens'],
    ['Esc', 'leave a dialog, or select nothing'],
    ['?', 'these keys'],
  ],
} as const;

export const palette = {
  open: 'Go to',
  input: 'Page, node or action',
  choices: 'Choices',
  none: 'Nothing has this name.',
  selectNone: 'Select no nodes',
  theme: (name: string) => `Theme: ${name}`,
  consoleOf: (name: string) => `${name} console`,
  kinds: {
    page: (key: string) => `page, g ${key}`,
    node: 'node',
    console: common.serialConsole,
    selection: 'saved selection',
    action: 'action',
    setting: 'setting',
    keys: 'help, ?',
    help: 'help',
  },
} as const;

/** The box that selects nodes. */
export const rangeBox = {
  label: 'Select nodes by a node range',
  placeholder: 'Nodes: compute,-n7 or n1-n9',
  completions: 'Completions',
  kinds: { saved: 'saved', group: 'group', node: 'node' },
  wrong: 'no range',
  reading: '…',
  save: 'Save selection',
  forget: 'Forget selection',
} as const;

export const signIn = {
  title: 'Sign in',
  account: 'Account',
  password: 'Password',
  busy: 'Signing in…',
  hint: 'The account is the one you use with [muster login].',
} as const;
