import type { IpmiLink } from '../link.ts';
import { ask } from './ask.ts';
import { atLeast } from './bytes.ts';

/** IPMI 2.0 31.4 and 33.11: a new reservation cancels the one before, so asking twice makes the first answer worthless. */
export interface Reservation {
  readonly id: number;
  /** How long the answer to the next such request is waited for before it is sent again, in milliseconds. */
  readonly retryAfter: number;
}

/** `cancelled`: the one before, if it was found cancelled; a request that was sent twice may have done that. */
export async function reserve(
  link: IpmiLink,
  request: { readonly netfn: number; readonly command: number },
  what: string,
  signal: AbortSignal,
  cancelled?: Reservation,
): Promise<Reservation> {
  const begun = performance.now();
  const data = await ask(link, { ...request, retryAfter: cancelled?.retryAfter ?? 0 }, what, signal);
  const took = performance.now() - begun;
  return {
    id: atLeast(data, 2, what).readUInt16LE(0),
    retryAfter: 2 * Math.max(took, cancelled?.retryAfter ?? 0),
  };
}
