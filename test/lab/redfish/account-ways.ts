import type { RedfishKind } from './protocol.ts';

/** How services of a kind have their accounts, as vendors do it. */
export interface AccountWays {
  /** All places are there from the beginning, changed by PATCH only; the first is the service's own (iDRAC, older XCC). */
  readonly places?: number;
  /** What an account is called in its path. */
  readonly pathBy: 'id' | 'name';
  /** Undefined: the service does not say. */
  readonly length: { readonly least: number; readonly most: number } | undefined;
  /** The service demands a description of the account (iLO). */
  readonly loginName?: true;
  /** A new password ends the sessions of the account. */
  readonly endsSessions?: true;
  /** DELETE without If-Match is refused. */
  readonly demandsETag?: true;
}

export const accountWays: Readonly<Record<RedfishKind, AccountWays>> = {
  plain: { pathBy: 'id', length: { least: 4, most: 20 }, demandsETag: true },
  twin: { pathBy: 'id', length: { least: 4, most: 20 } },
  sparse: { pathBy: 'id', places: 8, length: undefined, endsSessions: true },
  openbmc: { pathBy: 'name', length: { least: 4, most: 20 } },
  enclosure: { pathBy: 'id', length: { least: 4, most: 39 }, loginName: true },
  pdu: { pathBy: 'id', length: { least: 4, most: 20 } },
};
