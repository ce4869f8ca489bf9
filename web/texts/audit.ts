// The page of the audit log.
import { plural } from './common.ts';

export const audit = {
  title: 'Audit log',
  about: 'who asked muster for what, the newest first',
  records: 'Records',
  count: (records: number) => plural(records, 'record'),
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
  newer: 'Newer',
  older: 'Older',
};
