import { Type } from 'typebox';
import { query } from './command.ts';

/** Progress and results of a run: the caller's own, or anybody's for those who may do everything. */
export const lsrun = query({
  name: 'lsrun',
  args: Type.Object({ id: Type.String() }),
  line: ({ id }) => [id],
  free: true,
  run: (_snapshot, { id }, { runs, caller }) => ({
    shape: 'value',
    value: runs.show(id, caller.user, caller.hasFullRights()),
  }),
});
