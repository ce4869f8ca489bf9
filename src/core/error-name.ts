import { constants } from 'node:os';

/** Of two names for one number, such as EAGAIN and EWOULDBLOCK, the first counts. */
const names = new Map(
  Object.entries(constants.errno)
    .map(([name, number]) => [number, name] as const)
    .toReversed(),
);

/** `ENOSPC` for the number that a call of the system left behind. */
export const errorName = (number: number): string => names.get(number) ?? `error ${number}`;
