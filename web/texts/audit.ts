// The page of the audit log.
export const audit = {
  title: 'Audit log',
  about: 'who asked muster for what, the newest first',
  records: 'Records',
  none: 'No record matches.',
  fields: {
    userid: 'Account',
    command: 'Command',
    noderange: 'Nodes',
    status: 'Result',
    from: 'Since',
    to: 'Until',
  },
  nodesHint: 'part of what was asked for',
  exactHint: 'exactly',
  anyResult: 'any',
  results: ['Allowed', 'Denied', 'Failed', 'Cancelled', 'Interrupted'],
  find: 'Find',
  columns: ['Time', 'Account', 'Command', 'Nodes', 'Arguments', 'Result', 'Address'],
  page: (first: number, last: number, all: number) =>
    `${first.toLocaleString('en-US')} to ${last.toLocaleString('en-US')} of ${all.toLocaleString('en-US')}`,
  newer: 'Newer',
  older: 'Older',
};
