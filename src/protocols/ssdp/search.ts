import { Fault } from '../../core/errors.ts';
import { openPorts, type Outlet } from '../multicast/outlets.ts';
import { sleep } from '../sleep.ts';

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
export async function findRedfish(
  { outlets, milliseconds }: { outlets: readonly Outlet[]; milliseconds: number },
  signal: AbortSignal,
): Promise<RedfishAdvert[]> {
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
        send(searchRequest(group, spread), outlet?.family === 6 ? `${group}%${outlet.interface}` : group, ssdpPort);
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

/** UPnP 1.1 section 1.3 and DSP0266 section 15: searching for Redfish services. */
const ssdpPort = 1900;
const group4 = '239.255.255.250';
const group6 = 'ff02::c';
const redfishTarget = 'urn:dmtf-org:service:redfish-rest:1';

const mostLines = 64;

interface Advert {
  /** Its UUID in small letters; empty if it sent none. */
  readonly uuid: string;
  /** Where it says that it is; absent if it did not say. That could be any machine, so nothing goes there by itself. */
  readonly url?: string;
}

/** `seconds`: devices answer at random within them. */
export const searchRequest = (group: string, seconds: number): Buffer =>
  Buffer.from(
    [
      'M-SEARCH * HTTP/1.1',
      `HOST: ${group.includes(':') ? `[${group}]` : group}:${ssdpPort}`,
      'MAN: "ssdp:discover"',
      `MX: ${seconds}`,
      `ST: ${redfishTarget}`,
      '',
      '',
    ].join('\r\n'),
  );

/** The answer of a Redfish service; undefined for everything else. */
export function decodeAnswer(packet: Buffer): Advert | undefined {
  const [status = '', ...lines] = packet.toString('latin1').split(/\r?\n/, mostLines);
  if (!/^HTTP\/1\.\d 200(\s|$)/.test(status)) return undefined;
  const headers = new Map<string, string>();
  for (const line of lines) {
    if (line === '') break;
    const mark = line.indexOf(':');
    if (mark <= 0) continue;
    const name = line.slice(0, mark).trim().toLowerCase();
    if (!headers.has(name)) headers.set(name, line.slice(mark + 1).trim());
  }
  const target = headers.get('st') ?? '';
  // A minor version may follow.
  if (!target.startsWith(redfishTarget) || !/^(?:[:.]\d{1,4})?$/.test(target.slice(redfishTarget.length)))
    return undefined;
  const uuid = /^uuid:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:::|$)/i.exec(headers.get('usn') ?? '');
  const url = headers.get('al') ?? headers.get('location');
  return { uuid: (uuid?.[1] ?? '').toLowerCase(), ...(url !== undefined && { url }) };
}
