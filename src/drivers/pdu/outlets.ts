import { Unreachable } from '../../core/errors.ts';
import { unlessAborted } from '../../core/waiting.ts';
import type { Outlet, Outlets } from '../capabilities.ts';
import { OrderSet } from './order-set.ts';

/** An outlet, and what names it to the PDU. */
export interface KnownOutlet extends Outlet {
  readonly handle: string;
  /** Why it cannot be switched. */
  readonly fixed?: string | undefined;
}

/** One line of what a PDU is or draws. */
export interface PduFact {
  readonly label: string;
  readonly value: string;
}

/** A way to a PDU: SNMP or Redfish. */
export interface Pdu {
  /** Its outlets as they are now; with `readings` also what they draw, which takes longer. */
  outlets(readings: boolean, signal: AbortSignal): Promise<readonly KnownOutlet[]>;
  /**
   * Sends the order to each of them once. One that gets no answer ends it: resolves with those of which nobody knows whether they were
   * ordered, or have not been.
   */
  order(outlets: readonly KnownOutlet[], to: 'on' | 'off', signal: AbortSignal): Promise<readonly KnownOutlet[]>;
  /** What is measured for all of it together. */
  total(signal: AbortSignal): Promise<{ readonly watts?: number | undefined; readonly wattHours?: number | undefined }>;
  inventory(signal: AbortSignal): Promise<readonly PduFact[]>;
}

const longestReading = 60_000;

/** Milliseconds. */
export interface PduTimes {
  readonly powerTimeout: number;
  readonly resetPause: number;
}

/** What begins in one turn of the event loop is worked on together: however many nodes a PDU feeds, it is asked once for all of them. */
export function pduOutlets(pdu: Pdu, times: PduTimes): Outlets {
  const reading = joined((readings: boolean) => pdu.outlets(readings, AbortSignal.timeout(longestReading)));
  const orders = new Map<'on' | 'off', OrderSet>();
  return {
    resetPause: times.resetPause,
    list: (readings, signal) => unlessAborted(reading(readings), signal),
    set(ids, to, signal) {
      let set = orders.get(to);
      if (!set) {
        orders.set(to, (set = new OrderSet(pdu, to, times)));
        setImmediate(() => orders.delete(to));
      }
      return set.add(ids, signal);
    },
  };
}

function joined<Key, T>(read: (key: Key) => Promise<T>): (key: Key) => Promise<T> {
  const begun = new Map<Key, Promise<T>>();
  return (key) => {
    const known = begun.get(key);
    if (known) return known;
    const reading = read(key);
    begun.set(key, reading);
    setImmediate(() => begun.delete(key));
    return reading;
  };
}

/** For `order`: one after the other, to the first that is silent. */
export async function orderEach(
  outlets: readonly KnownOutlet[],
  send: (outlet: KnownOutlet) => Promise<void>,
): Promise<readonly KnownOutlet[]> {
  for (const [at, outlet] of outlets.entries()) {
    try {
      await send(outlet);
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      return outlets.slice(at);
    }
  }
  return [];
}
