import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { Interruptible } from '../core/slices.ts';
import { tableNamed } from '../database/tables.ts';
import { siteValue } from '../objects/effective.ts';
import { checkPruning, prunedRange, recordOfPruning } from '../objects/log-pruning.ts';
import { act, type Arguments, noSelection, type Question } from './command.ts';

/** Records that a reply shows. */
const mostShown = 100_000;
const whole = Type.Optional(Type.Integer({ minimum: 0 }));

const args = Type.Object({
  table: Type.String(),
  all: Type.Optional(Type.Boolean()),
  number: whole,
  percent: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  recid: whole,
  days: whole,
  shows: Type.Optional(Type.Boolean({ description: 'the reply has the records' })),
});

const line = ({ table, all, number, percent, recid, days, shows }: Arguments<typeof args>): string[] => [
  table,
  ...(shows ? ['-V'] : []),
  ...(all ? ['-a'] : []),
  ...Object.entries({ '-n': number, '-p': percent, '-i': recid, '-d': days }).flatMap(([option, value]) =>
    value === undefined ? [] : [option, String(value)],
  ),
];

/** Who is shown the records reads the log. */
function* withReading(given: Arguments<typeof args>): Interruptible<Question[]> {
  yield;
  return [
    { words: line(given), nodes: undefined },
    { command: 'tabdump', words: [given.table], nodes: undefined, every: true },
  ];
}

/** Removes old records of a log. Those that say who removed what stay. */
export const tabprune = act({
  name: 'tabprune',
  args,
  uses: ['store'],
  line,
  also: ({ shows }) => (shows ? ['tabdump'] : []),
  questions: (_snapshot, given) => (given.shows ? withReading(given) : undefined),
  select: () => noSelection,
  async run(snapshot, { table: name, shows, ...pruning }, { store, caller, run }) {
    const table = tableNamed(name);
    if (!table.log)
      throw new Fault('invalid', `Table "${name}" is no log; only auditlog and eventlog have old records to remove.`);
    checkPruning(pruning);
    if (/^(0|no|disable)$/i.test(siteValue(snapshot, 'logpruning') ?? ''))
      throw new Fault(
        'denied',
        'The site attribute logpruning forbids to remove records of logs. They go by themselves after the days of auditretention and eventretention.',
      );
    const { before, kept, count, rows } = await prunedRange(store, table, pruning, shows ? mostShown : 0);
    if (shows && count > mostShown)
      throw new Fault('invalid', `More than ${mostShown} records cannot be shown; remove fewer at a time.`);
    if (count > 0) {
      // First, so that it is there whatever happens, and behind all that go.
      await store.audit({
        time: Date.now(),
        user: caller.user,
        client: caller.client,
        ...recordOfPruning,
        noderange: '',
        args: `${count} records of ${name}, up to recid ${before - 1}`,
        request: run,
      });
      await store.database.pruneLog(name, before, kept);
    }
    return { shape: 'value', value: { removed: count, ...(shows ? { columns: table.columns, rows } : {}) } };
  },
});
