import { withoutWork } from '../without-work.ts';

export const command = withoutWork('Usage: makeconservercf [NODERANGE]', 'muster has no consoles yet.');
