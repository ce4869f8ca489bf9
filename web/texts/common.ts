// What several pages say.

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

const nodes = (count: number): string => plural(count, 'node');

export const common = {
  product: 'muster',
  nodes,
  machines: (count: number) => plural(count, 'machine'),
  rows: (count: number) => plural(count, 'row'),
  doneOf: (done: number, all: number) => `${done.toLocaleString('en-US')} of ${all.toLocaleString('en-US')}`,
  doneOfNodes: (done: number, all: number) => `${done.toLocaleString('en-US')} of ${nodes(all)}`,
  fromTo: (first: string, last: string) => `${first} to ${last}`,
  partOf: (first: number, last: number, all: number) =>
    `${common.fromTo(first.toLocaleString('en-US'), last.toLocaleString('en-US'))} of ${all.toLocaleString('en-US')}`,
  pair: (name: string, value: string) => `${name}: ${value}`,
  more: (count: number) => `and ${count} more`,
  count: (count: number) => `(${count})`,

  reading: 'Reading…',
  tryAgain: 'Try again',
  cancel: 'Cancel',
  close: 'Close',
  edit: 'Edit',
  remove: 'Remove',
  undo: 'Undo',
  showOrHide: (isOpen: boolean) => (isOpen ? 'Hide' : 'Show'),
  showOrHideIt: (name: string, isOpen: boolean) => `${common.showOrHide(isOpen)} ${name}`,
  sending: 'Sending…',
  showFirst: 'Show what happens',
  selectThese: 'Select these nodes',
  selectionIsEmpty: 'The selection has no node.',
  noOutput: '(nothing)',
  nothing: 'Nothing.',
  unset: 'not set',
  underWay: 'Under way',
  actions: 'Actions',
  history: 'History',
  node: 'Node',
  power: 'Power',
  console: 'Console',
  serialConsole: 'serial console',
  notConnected: 'not connected',
} as const;

/** How long ago something was. */
export const ago = {
  justNow: 'just now',
  units: [
    [86_400, (count: number) => `${plural(count, 'day')} ago`],
    [3_600, (count: number) => `${plural(count, 'hour')} ago`],
    [60, (count: number) => `${plural(count, 'minute')} ago`],
  ],
} as const;

/** Why a request has no answer. */
export const requests = {
  filesNotSent:
    'The connection ended while the files were sent. They may be more than the server takes (setting remote.clientBytes), or the network failed. See under Runs whether the work has begun before you try again.',
  noAnswer: 'The server does not answer. Check the network; the console tries again by itself.',
  status: (status: number) => `The server answered with the status ${status}.`,
  badRange: 'The node range could not be read.',
  sameNames: (name: string) => `Two of the files are named ${name}; copy them one by one.`,
} as const;
