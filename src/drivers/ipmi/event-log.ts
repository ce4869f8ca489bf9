import { Fault } from '../../core/errors.ts';
import { mapInSlices } from '../../core/slices.ts';
import { unanswered } from '../../protocols/ipmi/commands/ask.ts';
import type { SdrRecord } from '../../protocols/ipmi/commands/sdr-record.ts';
import { selText } from '../../protocols/ipmi/commands/sel-text.ts';
import { clearSel, readSel } from '../../protocols/ipmi/commands/sel.ts';
import type { EventLog } from '../capabilities.ts';
import { type Bmc, boundedReading } from './bmc.ts';

/** A log without the names of its sensors is better than none. */
async function namesIfAny(bmc: Bmc, signal: AbortSignal): Promise<readonly SdrRecord[]> {
  try {
    return await bmc.records(signal);
  } catch (error) {
    if (error instanceof Fault && !signal.aborted && !unanswered(error, signal)) return [];
    throw error;
  }
}

export function ipmiEventLog(bmc: Bmc): EventLog {
  return {
    read: (outer, newest = Number.POSITIVE_INFINITY) =>
      boundedReading(outer, async (signal) => {
        // A record tells where the next one is, not the one before: the newest cannot be read alone.
        const entries = (await readSel(bmc.link, signal)).slice(-newest);
        if (entries.length === 0) return [];
        const records = await namesIfAny(bmc, signal);
        return mapInSlices(entries, (entry) => selText(entry, records));
      }),
    clear: (signal) => clearSel(bmc.link, signal),
  };
}
