import { createSecretKey, type KeyObject } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { formatListen } from '../../core/host-address.ts';

/** A completion code and the data after it. */
export interface IpmiResponse {
  readonly code: number;
  readonly data: Buffer;
}

export type Privilege = 'user' | 'operator' | 'administrator';

/** A management controller on a bus of the BMC: IPMI 2.0 6.13. */
export interface Bridge {
  readonly channel: number;
  readonly address: number;
}

export interface IpmiRequest {
  readonly netfn: number;
  readonly command: number;
  readonly data?: Uint8Array;
  /** The logical unit it is for. Default: 0. */
  readonly lun?: number;
  /** Another controller behind the BMC, which passes the request on. */
  readonly bridge?: Bridge;
  /** What the command needs; the session is raised to it if necessary. Default: user. */
  readonly privilege?: Privilege;
  /** May be sent again when no answer came. False for what changes state and must not happen twice. Default: true. */
  readonly repeatable?: boolean;
  /** The least time, in milliseconds, before it is sent again; it is sent again before the deadline all the same. */
  readonly retryAfter?: number;
}

/** One BMC, reached over a session that is opened when needed. Requests of one link are sent one after another. */
export interface IpmiLink {
  /** Resolves with any completion code; rejects with a Fault when no answer came or the session cannot be opened. */
  request(request: IpmiRequest, signal: AbortSignal): Promise<IpmiResponse>;
}

export type SuiteId = 17 | 3;

/** A cipher suite: the numbers that are negotiated and the lengths that follow from them. */
export interface Suite {
  readonly id: SuiteId;
  readonly hash: 'sha256' | 'sha1';
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
  /** Length of the codes in RAKP 2 and 3. */
  readonly macLength: number;
  /** Length of the code in RAKP 4 and at the end of every packet of the session. */
  readonly tagLength: number;
}

/** IPMI 2.0 table 22-20, of which only suites that authenticate, protect and encrypt are offered. */
export const suites: Readonly<Record<SuiteId, Suite>> = {
  17: { id: 17, hash: 'sha256', authentication: 3, integrity: 4, confidentiality: 1, macLength: 32, tagLength: 16 },
  3: { id: 3, hash: 'sha1', authentication: 1, integrity: 1, confidentiality: 1, macLength: 20, tagLength: 12 },
};

const defaultSuites: readonly SuiteId[] = [17, 3];

export interface IpmiEndpoint {
  /** An IPv4 or IPv6 address or a host name. */
  readonly address: string;
  /** Default 623. */
  readonly port?: number | undefined;
  readonly username: string;
  readonly password: string;
  /** The key of the BMC itself, where one is set. */
  readonly kg?: Uint8Array | undefined;
  /** Which suites may be used, in the order in which they are tried. */
  readonly suites?: readonly SuiteId[] | undefined;
}

export interface Credentials {
  readonly user: Buffer;
  readonly userName: string;
  readonly userKey: KeyObject;
  /** K_g, else the user's key. */
  readonly generatingKey: KeyObject;
  readonly hasKg: boolean;
  readonly suites: readonly SuiteId[];
}

export const defaultPort = 623;

/** IPMI 2.0 13.20 and 22.30: longest name, password and K_g in bytes. */
const longest = { name: 16, password: 20, kg: 20 } as const;

function problem({ address, port, username, password, kg, suites: wanted }: IpmiEndpoint): string | undefined {
  if (address === '') return 'it has no BMC address.';
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536)) {
    return `the port ${port} of its BMC is not a number from 1 to 65535.`;
  }
  if (username === '' || password === '') {
    return 'it has no user name or no password for its BMC; muster does not log in to IPMI anonymously.';
  }
  if (Buffer.byteLength(username) > longest.name) return `an IPMI user name has at most ${longest.name} bytes.`;
  if (Buffer.byteLength(password) > longest.password) return `an IPMI password has at most ${longest.password} bytes.`;
  if (username.includes('\0') || password.includes('\0'))
    return 'an IPMI user name or password must not contain a zero byte.';
  if (kg !== undefined && kg.length > longest.kg) return `the key K_g has at most ${longest.kg} bytes.`;
  if (wanted?.length === 0) return 'no IPMI cipher suite is allowed for it.';
  const weak = wanted?.find((id) => !Object.hasOwn(suites, id));
  if (weak !== undefined)
    return `the IPMI cipher suite ${weak} is refused as insecure or unknown; 17 and 3 can be used.`;
  return undefined;
}

/** Throws a Fault for an endpoint that must not be talked to. */
export function credentialsOf(endpoint: IpmiEndpoint): Credentials {
  const wrong = problem(endpoint);
  if (wrong !== undefined) throw new Fault('invalid', wrong);
  const { username, password, kg } = endpoint;
  const userKey = createSecretKey(Buffer.from(password));
  // 20 zero bytes mean that no K_g is set.
  const hasKg = kg?.some((byte) => byte !== 0) ?? false;
  return {
    user: Buffer.from(username),
    userName: username,
    userKey,
    generatingKey: kg && hasKg ? createSecretKey(Buffer.from(kg)) : userKey,
    hasKg,
    suites: endpoint.suites ?? defaultSuites,
  };
}

/** The address as sentences show it. */
export function hostAndPort({ address, port = defaultPort }: IpmiEndpoint): string {
  return port === defaultPort ? address : formatListen({ host: address, port });
}
