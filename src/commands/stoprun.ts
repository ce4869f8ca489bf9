import { Type } from 'typebox';
import { nothing, query } from './command.ts';

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
