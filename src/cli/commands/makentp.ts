import { withoutWork } from '../without-work.ts';

export const command = withoutWork(
  'Usage: makentp',
  'muster runs no time server; the postscript setupntp sets up the clients.',
);
