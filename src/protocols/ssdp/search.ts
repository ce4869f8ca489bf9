import { Fault } from '../../core/errors.ts';
import type { Outlet } from '../multicast/outlets.ts';
import { openPorts } from '../multicast/ports.ts';
import { sleep } from '../multicast/sleep.ts';
import { type Advert, decodeAnswer, group4, group6, searchRequest, ssdpPort } from './message.ts';

export interface RedfishQuestion {
  readonly outlets: readonly Outlet[];
  readonly milliseconds: number;
  readonly port?: number;
}

/** A Redfish service that has answered a search. */
export interface RedfishAdvert extends Advert {
  /** The address it answered from. */
  readonly address: string;
}

const mostAnswers = 8_192;
/** DSP0266 15.2. */
const hops = 2;
const searches = 3;
const gap = 700;
const mostSpread = 3;

/** The Redfish services that answer a search, one for each address. */
export async function findRedfish(question: RedfishQuestion, signal: AbortSignal): Promise<RedfishAdvert[]> {
  const { outlets, milliseconds, port: to = ssdpPort } = question;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]);
  const found = new Map<string, RedfishAdvert>();
  const ports = await openPorts({
    outlets,
    directed: [],
    hops,
    heard(packet, address) {
      const known = found.get(address);
      if (known?.uuid || (!known && found.size >= mostAnswers)) return;
      const advert = decodeAnswer(packet);
      if (advert) found.set(address, { ...advert, address });
    },
  });
  // Devices take their time, so that not all answer at once; the last of them must still be heard.
  const spread = Math.min(mostSpread, Math.max(1, Math.floor((milliseconds - searches * gap) / 1_000)));
  try {
    for (let i = 0; i < searches && !limit.aborted; i++) {
      for (const { outlet, send } of ports) {
        const group = outlet?.family === 6 ? group6 : group4;
        send(searchRequest(group, spread), outlet?.family === 6 ? `${group}%${outlet.interface}` : group, to);
      }
      await sleep(gap, limit);
    }
    await sleep(spread * 1_000, limit);
  } finally {
    for (const port of ports) port.close();
  }
  if (signal.aborted) throw new Fault('unavailable', 'The search for services was ended.', { cause: signal.reason });
  return [...found.values()];
}
