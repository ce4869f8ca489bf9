import { withoutWork } from '../without-work.ts';

export const command = withoutWork('Usage: makegocons [NODERANGE]', 'muster has no consoles yet.');
