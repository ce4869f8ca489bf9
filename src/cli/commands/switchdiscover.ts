import { withoutWork } from '../without-work.ts';

export const command = withoutWork('Usage: switchdiscover [--range ADDRESSES]', 'muster does not look for switches.');
