import { nothing, query } from './command.ts';

export const stoprun = query<{ readonly id: string }>({
  name: 'stoprun',
  free: true,
  run(_snapshot, { id }, { runs, caller }) {
    runs.cancel(id, caller.user, caller.hasFullRights());
    return nothing;
  },
});
