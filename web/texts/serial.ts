import { plural } from './common.ts';

/** What the pages of serial consoles say. */
export const texts = {
  consoleOf: (node: string) => `Serial console of ${node}`,
  node: 'Node page',
  all: 'All consoles',

  opening: 'Opening…',
  connected: 'connected',
  connecting: 'connecting',
  you: 'you type',
  youLook: 'you look on',
  mayOnlyLook: 'Your account may look on only: the policy has to allow it rcons for typing.',
  nobodyTypes: 'Nobody types.',

  lost: 'The connection to the server was lost.',
  notOpened:
    'The server did not open the console. Too many may look at it already, or a proxy before the server does not pass WebSockets on.',
  noNode: (node: string) => `There is no node ${node}.`,
  triesAgain: (why: string, seconds: number) => `${why} The next attempt is in ${plural(seconds, 'second')}.`,
  cut: (bytes: number) =>
    `${plural(bytes, 'byte')} of output are missing here: they came faster than this browser took them.`,
  notLoaded: 'The terminal could not be loaded. If muster was updated meanwhile, reload the page.',

  connectNow: 'Connect now',
  take: 'Take the keyboard',
  ask: 'Ask for the keyboard',
  release: 'Let others type',
  give: 'Give',
  giveTo: (user: string, viewer: number) => `Give the keyboard to ${user} (viewer ${viewer})`,
  sendBreak: 'Send break',
  keys: 'Send a key',
  clear: 'Clear',
  takeOver: 'Take over',
  takeOverAsks: (node: string) => `Take over the console of ${node}?`,
  takeOverSays:
    'Most BMCs have one serial console. If another program has it, such as ipmitool, muster takes it, and that program loses it.',
  leaveHint: 'Ctrl Shift X leaves the terminal. Ctrl Shift V pastes.',

  here: 'Who is here',
  notices: 'Messages of muster',
  types: 'types',
  looksOn: 'looks on',
  isTyping: (user: string) => `${user} types`,
  isYou: '(you)',
  keep: 'Keep open and log',
  keepNot: 'Keep no longer',
  kept: 'muster keeps this console open and logs it.',
  onDemand: 'The console is open, and logged, while somebody looks at it.',

  log: 'Log',
  logOf: (node: string) => `Log of the console of ${node}`,
  search: 'Search',
  searchIn: 'Text to search for',
  since: 'Since',
  readAgain: 'Read again',
  nothingLogged: 'Nothing was logged in this time.',
  nothingFound: 'No line has this text in this time.',
  lastLines: (count: number) => `the last ${count.toLocaleString('en-US')} lines`,

  consoles: 'Consoles',
  live: 'Live',
  liveOpen: 'the consoles that are kept open or used',
  liveSelected: 'the selected nodes',
  previous: 'Previous',
  next: 'Next',
  noTiles: 'Select nodes in the box above to see their consoles here, up to 12 at once. Here you look on only.',
  open: 'Open consoles',
  noneOpen: 'No console is open.',
  firstStep: 'muster logs a console while it is open. Keep those of your nodes open, so that the logs have no gaps:',
  firstCommand: 'muster makegocons compute',
  columns: ['Node', 'State', 'Since', 'Reached by', 'Who types', 'Look on', 'Open'] as const,
  always: 'always',
  whileUsed: 'on demand',
  searchAll: 'Search all logs',
  searchSelected: 'Search the logs of the selected nodes',
  searchHint: 'The logs say what machines printed, also before a crash. Capital letters make no difference.',
  found: (lines: number, nodes: number) => `${plural(lines, 'line')} of ${plural(nodes, 'node')}`,
} as const;

/** How far back logs are read. */
export const spans = [
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['1d', '1 day'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

/** Keys that a browser keeps for itself, or that a phone has not, with what a terminal sends for them. */
export const keys = [
  ['Esc', '\u001b'],
  ['Tab', '\t'],
  ['Enter', '\r'],
  ['Ctrl C', '\u0003'],
  ['Ctrl D', '\u0004'],
  ['Ctrl W', '\u0017'],
  ['Ctrl T', '\u0014'],
  ['Ctrl N', '\u000e'],
  ['Ctrl Z', '\u001a'],
  ['Up', '\u001b[A'],
  ['Down', '\u001b[B'],
  ['Right', '\u001b[C'],
  ['Left', '\u001b[D'],
  ['Delete', '\u001b[3~'],
  ['F1', '\u001bOP'],
  ['F2', '\u001bOQ'],
  ['F8', '\u001b[19~'],
  ['F9', '\u001b[20~'],
  ['F10', '\u001b[21~'],
  ['F11', '\u001b[23~'],
  ['F12', '\u001b[24~'],
] as const;
