/** UPnP 1.1 section 1.3 and DSP0266 section 15: searching for Redfish services. */
export const ssdpPort = 1900;
export const group4 = '239.255.255.250';
export const group6 = 'ff02::c';
export const redfishTarget = 'urn:dmtf-org:service:redfish-rest:1';

const mostLines = 64;

/** What a Redfish service says of itself. */
export interface Advert {
  /** Its UUID in small letters; empty if it told none. */
  readonly uuid: string;
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
  // Where it says that it is (AL, LOCATION) is not looked at: that could be any machine. It is where it answered from.
  return { uuid: (uuid?.[1] ?? '').toLowerCase() };
}
