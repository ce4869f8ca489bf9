// The pages of runs and of changes.
import { common, plural } from './common.ts';

export const runs = {
  title: 'Runs',
  about: 'of the last day: what works on nodes, and what takes long',
  runs: (count: number) => plural(count, 'run'),
  none: 'Nothing has run yet.',
  firstStep:
    'Select nodes in the box above and switch them on, or run a command on them. Each run is a link that others can follow.',
  withErrors: 'with errors',
  counts: (done: number, all: number, failed: number) =>
    `${common.doneOfNodes(done, all)}${failed > 0 ? `, ${failed.toLocaleString('en-US')} failed` : ''}`,
  selectFailed: (count: number) =>
    count === 1 ? 'Select the node that failed' : `Select the ${count.toLocaleString('en-US')} that failed`,
  facts: (...facts: readonly string[]) => facts.filter((fact) => fact !== '').join(' · '),
  exitCode: (code: number) => `exit code ${code}`,
  output: 'Output',
  noAnswer: 'No node has answered yet.',
  bootSteps: 'Boot steps',
  notSeen: 'not seen yet',
} as const;

export const changes = {
  title: 'Changes',
  about: 'of definitions, the newest first; each can be undone',
  none: 'No changes.',
  noneYet: 'Every change of the database appears here with who made it, and can be taken back.',
  tokenMade: 'A token was made',
  tokenEnded: 'A token ended',
  made: 'made',
  removed: 'removed',
  /** What a row of a table is, before its key. Rows of other tables are called as their table. */
  rowsOf: {
    policy: 'rule',
    networks: 'network',
    nodegroup: 'group',
    osimage: 'image',
    passwd: 'password',
    site: 'setting',
  },
  subject: (what: string, names: string) => `${what} ${names}`,
  andMore: (columns: string) => `${columns}, …`,
  line: (names: string, what: string) => `${names}: ${what}`,
  lineOfRows: (names: string, what: string, rows: number) => `${names}, …: ${what} (${common.rows(rows)})`,
  newRow: ' · new',
  removedRow: ' · removed',
  moreRows: (count: number) => `and ${plural(count, 'more row')}`,
  undoIt: (id: number) => `Undo change ${id}`,
  undoRows: (count: number) => `Undo ${common.rows(count)}`,
} as const;
