/** A completion code and the data after it. */
export interface IpmiResponse {
  readonly code: number;
  readonly data: Buffer;
}

export type Privilege = 'user' | 'operator' | 'administrator';

/** A management controller on a bus of the service processor: IPMI 2.0 6.13. */
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
  /** Another controller behind the service processor, which passes the request on. */
  readonly bridge?: Bridge;
  /** What the command needs; the session is raised to it if necessary. Default: user. */
  readonly privilege?: Privilege;
  /** May be sent again when no answer came. False for what changes state and must not happen twice. Default: true. */
  readonly repeatable?: boolean;
  /** The least time, in milliseconds, before it is sent again; it is sent again before the deadline all the same. */
  readonly retryAfter?: number;
}

/** One service processor, reached over a session that is opened when needed. Requests of one link are sent one after another. */
export interface IpmiLink {
  /** Resolves with any completion code; rejects with a Fault when no answer came or the session cannot be opened. */
  request(request: IpmiRequest, signal: AbortSignal): Promise<IpmiResponse>;
}
