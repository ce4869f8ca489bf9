import { groupName } from '../../access/policy-rule.ts';
import { Fault } from '../../core/errors.ts';
import type { FoundAccount } from '../sources.ts';
import type { OidcSettings } from './settings.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** Somebody whom the provider has named. */
export interface Named extends FoundAccount {
  readonly name: string;
}

const refused = (sentence: string): Fault => new Fault('unauthenticated', ['Authentication failure', sentence]);

/** The account that claims stand for. Who it is, the provider says by `sub`; the name is only what it is called here. */
export function accountIn(claims: Claims, { name: claim, domain, groups: groupClaim }: OidcSettings): Named {
  const { iss, sub, email_verified: isVerified } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string' || sub === '')
    throw refused('The provider of OpenID Connect does not say who logs in: iss or sub is missing.');
  const given = claims[claim];
  if (typeof given !== 'string' || given === '')
    throw refused(`The provider of OpenID Connect does not say the name of the account: there is no claim "${claim}".`);
  // An address that nobody has checked is whatever somebody typed.
  if (claim === 'email' && isVerified !== true)
    throw refused('The provider has not verified the address of this account.');
  return { name: shortName(given, domain), id: `${iss} ${sub}`, groups: groupsIn(claims, groupClaim) };
}

function shortName(given: string, domain: string | undefined): string {
  if (domain === undefined) return given;
  const end = `@${domain.toLowerCase()}`;
  if (!given.toLowerCase().endsWith(end)) throw refused(`The name of this account does not end with ${end}.`);
  return given.slice(0, -end.length);
}

/** A provider that writes them in another form than a list would make rules that refuse say nothing. */
function groupsIn(claims: Claims, claim: string): readonly string[] {
  const given = claims[claim];
  // Somebody in very many groups: they are to be asked for elsewhere (OpenID Connect Core 1.0, 5.6.2).
  const elsewhere = claims['_claim_names'];
  if (typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim))
    throw refused(
      `The provider leaves out the claim "${claim}" and says where to ask for it, as for accounts in very many groups. Have it send fewer groups.`,
    );
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given) || given.some((each) => typeof each !== 'string'))
    throw refused(
      `The claim "${claim}" of the provider is no list of names, so the groups of this account are not known.`,
    );
  return given.map((each: string) => groupName(each));
}
