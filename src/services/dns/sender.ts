import { setTimeout as pause } from 'node:timers/promises';
import type { DnsClient } from '../../protocols/dns/client.ts';
import { isUnmet, rcode } from '../../protocols/dns/codes.ts';
import { DnsFault } from '../../protocols/dns/faults.ts';
import type { Batch } from '../../protocols/dns/update.ts';
import { batchesFor } from './batches.ts';
import type { GuardedOperation } from './guards.ts';
import type { Refusal } from './obstacles.ts';
import { inZone } from './server-fault.ts';

/**
 * Messages under way at once, each on a connection of its own: the second answer on one connection would wait until the first is
 * acknowledged, which takes the kernel 40 ms.
 */
export const messagesUnderWay = 4;
/** Milliseconds before each further try: a name server that died is back in that time. */
const pauses = [300, 1_200, 3_000];

/** Sends the operations of zones. Resolves with the messages that were refused because names are not as they are required to be. */
export async function sendAll(
  clients: readonly DnsClient[],
  zones: ReadonlyMap<string, GuardedOperation[]>,
): Promise<Refusal[]> {
  const batches = batchesFor(zones);
  const refusals: Refusal[] = [];
  let failed = false;
  const worker = async (client: DnsClient): Promise<void> => {
    for (const { zone, batch, operations } of batches) {
      if (failed) return;
      try {
        await sendOne(client, zone, batch);
      } catch (error) {
        if (error instanceof DnsFault && isUnmet(error.code)) {
          refusals.push({ zone, operations });
          continue;
        }
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(clients.map(worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return refusals;
}

/** Updates say what shall be, so sending one twice does no harm. */
async function sendOne(client: DnsClient, zone: string, batch: Batch): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await client.update(batch);
    } catch (error) {
      const wait = pauses[tries];
      if (!(error instanceof DnsFault)) throw error;
      if (wait === undefined || !mayPass(error)) throw inZone(error, zone);
      await pause(wait);
    }
  }
}

const mayPass = ({ failure, code }: DnsFault): boolean => failure === 'unreachable' || code === rcode.servfail;
