import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { type Arguments, nothing, query, type RunFilter } from './command.ts';

export const runStates = ['running', 'finished', 'cancelled', 'interrupted'] as const;
const usualLimit = 100;
const highestLimit = 1_000;

const oneRun = Type.Object({ id: Type.String() });
const manyRuns = Type.Object({
  state: Type.Optional(Type.String({ description: runStates.join(', ') })),
  user: Type.Optional(Type.String()),
  command: Type.Optional(Type.String()),
  limit: Type.Optional(Type.String({ description: 'how many at most' })),
});

/** Progress and results of a run, or a list of runs: the caller's own, or anybody's for those who may do everything. */
export const lsrun = query({
  name: 'lsrun',
  args: Type.Union([oneRun, manyRuns]),
  uses: ['runs'],
  line(args) {
    if ('id' in args) return [args.id];
    return (['state', 'user', 'command', 'limit'] as const).flatMap((name) =>
      args[name] === undefined ? [] : [`${name}=${args[name]}`],
    );
  },
  free: true,
  run: (_snapshot, args, { runs, caller }) => ({
    shape: 'value',
    value:
      'id' in args
        ? runs.show(args.id, caller.user, caller.hasFullRights())
        : { runs: runs.list(filterOf(args), caller.user, caller.hasFullRights()) },
  }),
});

function filterOf({ state, user, command, limit }: Arguments<typeof manyRuns>): RunFilter {
  const known = runStates.find((each) => each === state);
  if (state !== undefined && !known) throw new Fault('malformed', `state: give one of ${runStates.join(', ')}.`);
  const most = limit === undefined ? usualLimit : Number(limit);
  if (!/^\d{1,4}$/.test(limit ?? '1') || most < 1 || most > highestLimit)
    throw new Fault('malformed', `limit: give a number from 1 to ${highestLimit}.`);
  return { state: known, user, command, limit: most };
}

export const stoprun = query({
  name: 'stoprun',
  args: Type.Object({ id: Type.String() }),
  uses: ['runs'],
  line: ({ id }) => [id],
  free: true,
  run(_snapshot, { id }, { runs, caller }) {
    runs.cancel(id, caller.user, caller.hasFullRights());
    return nothing;
  },
});
