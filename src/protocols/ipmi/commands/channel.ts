import type { IpmiLink } from '../link.ts';
import { ask } from './ask.ts';
import { atLeast, byteAt } from './bytes.ts';

/** IPMI 2.0 sections 22.13 (authentication capabilities) and 22.15.2 (cipher suites). */
const app = 0x06;
const commands = { getAuthentication: 0x38, getCipherSuites: 0x54 };
const ipmiPayload = 0x00;
const bySuite = 0x80;
const mostParts = 0x40;
const partLength = 16;

export interface OfferedSuite {
  readonly id: number;
  /** Of the maker, whose meaning only the maker knows. */
  readonly isOem: boolean;
  /** Numbers of tables 13-17 to 13-19; 0 is none. */
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
}

const [standardStart, oemStart] = [0xc0, 0xc1];

/** Table 22-19: a start, an id, for makers' ones three bytes of the maker, and algorithms, whose two highest bits are their kind. */
export function decodeCipherSuites(data: Buffer): readonly OfferedSuite[] {
  const suites: OfferedSuite[] = [];
  for (let at = 0; at + 1 < data.length; ) {
    const start = data[at]!;
    if (start !== standardStart && start !== oemStart) {
      at++;
      continue;
    }
    const isOem = start === oemStart;
    const id = data[at + 1]!;
    at += isOem ? 5 : 2;
    const found = [0, 0, 0];
    while (at < data.length && data[at]! < standardStart) {
      const kind = data[at]! >> 6;
      found[kind] = data[at]! & 0x3f;
      at++;
    }
    suites.push({ id, isOem, authentication: found[0]!, integrity: found[1]!, confidentiality: found[2]! });
  }
  return suites;
}

/** Those that the BMC offers to whoever opens a session. */
export async function getCipherSuites(
  link: IpmiLink,
  channel: number,
  signal: AbortSignal,
): Promise<readonly OfferedSuite[]> {
  const parts: Buffer[] = [];
  for (let part = 0; part < mostParts; part++) {
    const data = Buffer.of(channel, ipmiPayload, bySuite | part);
    const answer = await ask(
      link,
      { netfn: app, command: commands.getCipherSuites, data },
      'to list its cipher suites',
      signal,
    );
    const records = atLeast(answer, 1, 'Get Channel Cipher Suites').subarray(1);
    parts.push(records);
    if (records.length < partLength) break;
  }
  return decodeCipherSuites(Buffer.concat(parts));
}

export interface AuthenticationCapabilities {
  /** IPMI 1.5 sessions: without authentication, and with the password in clear text. */
  readonly none: boolean;
  readonly plainPassword: boolean;
  readonly anonymous: boolean;
  readonly nullNames: boolean;
}

export async function getAuthenticationCapabilities(
  link: IpmiLink,
  channel: number,
  signal: AbortSignal,
): Promise<AuthenticationCapabilities> {
  const administrator = 4;
  const data = Buffer.of(channel, administrator);
  const what = 'Get Channel Authentication Capabilities';
  const answer = atLeast(
    await ask(link, { netfn: app, command: commands.getAuthentication, data }, what, signal),
    3,
    what,
  );
  const [types, status] = [byteAt(answer, 1), byteAt(answer, 2)];
  return {
    none: (types & 0x01) !== 0,
    plainPassword: (types & 0x10) !== 0,
    anonymous: (status & 0x01) !== 0,
    nullNames: (status & 0x02) !== 0,
  };
}
