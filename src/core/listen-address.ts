import { isIP, isIPv6 } from 'node:net';

export interface ListenAddress {
  host: string;
  port: number;
}

const hostName = /^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?)*$/;

/** Reads `HOST:PORT` or `[IPv6]:PORT`; anything else is undefined. Port 0 lets the system choose. */
export function parseListen(text: string): ListenAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > 65535) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  const host = plain ?? '';
  const looksNumeric = /^[\d.]+$/.test(host);
  return isIP(host) === 4 || (!looksNumeric && hostName.test(host)) ? { host, port } : undefined;
}

/** The same as text, ready for a URL. */
export function formatListen({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
