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
  uses: ['runBoard'],
  line(args) {
    if ('id' in args) return [args.id];
    return (['state', 'user', 'command', 'limit'] as const).flatMap((name) =>
      args[name] === undefined ? [] : [`${name}=${args[name]}`],
    );
  },
  free: true,
  async run(_snapshot, args, { runBoard, caller }) {
    const seesAll = caller.hasFullRights();
    const shown =
      'id' in args
        ? runBoard.show(args.id, caller.user, seesAll, caller.scope?.id)
        : runBoard.list(filterOf(args), caller.user, seesAll, caller.scope?.id);
    return { shape: 'value', value: await shown };
  },
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
  uses: ['runBoard'],
  line: ({ id }) => [id],
  free: true,
  async run(_snapshot, { id }, { runBoard, caller }) {
    await runBoard.cancel(id, caller.user, caller.hasFullRights(), caller.scope?.id);
    return nothing;
  },
});
