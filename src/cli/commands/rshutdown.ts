import { notOffered } from '../nodes/not-offered.ts';

export const command = notOffered('Usage: rshutdown NODERANGE');
