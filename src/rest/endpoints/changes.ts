import { Type } from 'typebox';
import { lschanges, revert } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { rowsListed } from '../../objects/history.ts';
import { momentForms } from '../../objects/moments.ts';
import { anyMembers, endpoint, type Endpoint } from './endpoint.ts';
import { isSet, splitList } from './definitions.ts';

const id = Type.Integer({ minimum: 1, description: 'the number of the change, which is the revision it made' });
const count = Type.Integer({ minimum: 0 });
const time = Type.String({ format: 'date-time' });
const columns = (description: string) =>
  Type.Union([anyMembers(description, Type.Union([Type.String(), Type.Null()])), Type.Null()]);

/** One row of a table, before and after. */
const row = Type.Object(
  {
    table: Type.String(),
    key: anyMembers('the columns that name the row, such as node', Type.String()),
    before: columns('columns before; null: there was no such row'),
    after: columns('columns after; null: the row is gone'),
  },
  {
    description:
      'Of a row that was there before and after, only the columns that changed, null where one was not set; of a row that was made or removed, all of them. Secrets are ********.',
  },
);

const origin = {
  id,
  time,
  user: Type.String({ description: 'who changed it; muster itself has the name muster' }),
  client: Type.String({ description: 'the address it came from; local is muster itself' }),
  command: Type.String({ description: 'the command, as policies name it' }),
  run: Type.String({ description: 'the run, as in X-Muster-Run' }),
  reverts: Type.Optional(Type.Integer({ description: 'the change that this one took back' })),
  rows: Type.Integer({ minimum: 1, description: 'how many rows it changed, of those asked for that you may see' }),
};

export const listReply = Type.Object({
  changes: Type.Array(
    Type.Object({
      ...origin,
      tables: Type.Array(Type.String(), { description: 'the tables they are in' }),
      changes: Type.Array(row, { description: `the first ${rowsListed} of them; GET /changes/{id} has all` }),
    }),
    { description: 'the newest first' },
  ),
  next: Type.Optional(Type.Integer({ description: 'if there are more: what to give as until to go on' })),
  oldest: Type.Optional(
    Type.Object(
      { id, time },
      { description: 'the oldest change that is still known; site.journalretention says how long' },
    ),
  ),
});

export const entryReply = Type.Object({ ...origin, changes: Type.Array(row) });

const diffReply = Type.Object({
  from: Type.Integer({ minimum: 0, description: 'the revision of the first state' }),
  to: Type.Integer({ minimum: 0, description: 'the revision of the other' }),
  rows: count,
  changes: Type.Array(row),
});

const revertReply = Type.Object({
  id,
  reverts: Type.Integer({ description: 'the change that was taken back' }),
  rows: count,
});

const exampleRow = {
  table: 'nodetype',
  key: { node: 'n1' },
  before: { arch: 'x86_64' },
  after: { arch: 'aarch64' },
};
const exampleOrigin = {
  id: 2,
  time: '2026-11-15T09:05:00.000Z',
  user: 'root',
  client: '127.0.0.1',
  command: 'chdef',
  run: '0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11',
};

const seen =
  'Accounts with rights on some nodes only see the rows of those nodes since they were made, and what they changed themselves; other changes are as unknown as numbers that do not exist.';

const rowsOfNodes =
  'only rows of these nodes, also of nodes that are no longer there; a group that is named counts with its own rows too';
const rowsOfTables = 'only rows of these tables, separated by commas';

function byWhom(user: string | undefined, mine: string | undefined): { user?: string | undefined; mine?: boolean } {
  if (!isSet('mine', mine, '1')) return { user };
  if (user !== undefined) throw new Fault('malformed', 'user and mine: give one of them.');
  return { mine: true };
}

export const changes: Endpoint[] = [
  endpoint('GET /changes', {
    command: lschanges,
    reply: 'object',
    returns: listReply,
    query: {
      noderange: rowsOfNodes,
      table: rowsOfTables,
      user: 'only changes by this user',
      mine: '1: only your own changes',
      command: 'only changes by this command, such as chdef',
      since: `only changes from then on: ${momentForms}`,
      until: `only changes up to then: ${momentForms}`,
      limit: 'how many at most, up to 1000; usually 100',
    },
    args: ({ query: { noderange, table, user, mine, command, since, until, limit } }) => ({
      range: noderange,
      tables: table === undefined ? undefined : splitList(table),
      ...byWhom(user, mine),
      command,
      since,
      until,
      limit,
    }),
    range: 'noderange',
    summary: 'What was changed, by whom, when and from where, the newest first.',
    description: `Every change of the database is in the journal, but for volatile columns such as status. ${seen} With Accept: application/x-ndjson the first line has next and oldest, and each change is a line.`,
    example: {
      query: { noderange: 'n1', limit: '1' },
      reply: {
        changes: [{ ...exampleOrigin, tables: ['nodetype'], rows: 1, changes: [exampleRow] }],
        next: 1,
        oldest: { id: 1, time: '2026-11-15T09:00:00.000Z' },
      },
    },
    only: '/muster',
  }),
  endpoint('GET /changes/diff', {
    command: lschanges,
    reply: 'object',
    returns: diffReply,
    query: {
      from: momentForms,
      to: `${momentForms}; now, if it is absent`,
      noderange: rowsOfNodes,
      table: rowsOfTables,
    },
    args: ({ query: { from, to, noderange, table } }) => {
      if (from === undefined) throw new Fault('missing-member', `Say since when: ?from=... with ${momentForms}.`);
      return { from, to, range: noderange, tables: table === undefined ? undefined : splitList(table) };
    },
    range: 'noderange',
    summary: 'What differs between two moments, whatever happened in between.',
    description:
      'The rows are those of one change that would lead from one state to the other; volatile columns such as status are left out. Accounts with rights on some nodes only see rows of nodes that exist and that the rules cover today and covered then, by the groups of that time.',
    example: {
      query: { from: '0', noderange: 'n1' },
      reply: { from: 0, to: 2, rows: 1, changes: [exampleRow] },
    },
    only: '/muster',
  }),
  endpoint('GET /changes/{change}', {
    command: lschanges,
    reply: 'object',
    returns: entryReply,
    args: ({ params }) => ({ id: params['change']! }),
    summary: 'One change with all rows it changed, before and after.',
    description: seen,
    example: { path: '/changes/2', reply: { ...exampleOrigin, rows: 1, changes: [exampleRow] } },
    only: '/muster',
  }),
  endpoint('POST /changes/{change}/revert', {
    command: revert,
    reply: 'object',
    returns: revertReply,
    args: ({ params }) => ({ id: params['change']! }),
    range: 'change',
    summary: 'Take back a change, by a change of its own.',
    description:
      'Every row becomes what it was before, secrets too. It is refused (409) with what stands in the way where a row is no longer as the change left it: take back later changes first. It needs rights on all that the change was about, as any other write does. Volatile columns such as status stay as they are, and tokens that have ended do not come back. With dryRun=1 it shows what it would change.',
    example: { path: '/changes/2/revert', reply: { id: 3, reverts: 2, rows: 1 } },
    only: '/muster',
  }),
];
