import { query } from './command.ts';

/** Progress and results of a run: the caller's own, or anybody's for those who may do everything. */
export const lsrun = query<{ readonly id: string }>({
  name: 'lsrun',
  free: true,
  run: (_snapshot, { id }, { runs, caller }) => ({
    shape: 'value',
    value: runs.show(id, caller.user, caller.hasFullRights()),
  }),
});
