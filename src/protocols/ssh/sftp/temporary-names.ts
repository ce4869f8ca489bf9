import { randomBytes } from 'node:crypto';

/** Part of a name on a node that nobody else uses. It begins with the time by our clock, so that the clock of the node does not matter. */
export const temporaryToken = (now = Date.now()): string =>
  Math.floor(now / 1_000)
    .toString(16)
    .padStart(8, '0') + randomBytes(6).toString('hex');

/** What a name ends with for as long as it is not the last one. */
export const temporaryEnding = (token = temporaryToken()): string => `.${token}.muster`;

/** The directory that an archive's commands are in. */
export const planName = (token: string): string => `.${token}.plan.muster`;

const temporary = /^\.(?:.+\.)?([0-9a-f]{8})[0-9a-f]{12}(?:\.plan)?\.muster$/s;

/** When that name was made, in milliseconds; undefined if it is none of ours. Characters are bytes. */
export function madeAt(name: string): number | undefined {
  const seconds = temporary.exec(name)?.[1];
  return seconds === undefined ? undefined : Number.parseInt(seconds, 16) * 1_000;
}
