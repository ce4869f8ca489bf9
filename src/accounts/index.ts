import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Store } from '../database/store.ts';
import { LdapSource } from './ldap/ldap.ts';
import type { LdapSettings } from './ldap/settings.ts';
import type { OidcLogins, OidcParts } from './oidc/logins.ts';
import type { OidcSettings } from './oidc/settings.ts';
import { PamSource } from './pam/pam.ts';
import type { PamSettings } from './pam/settings.ts';
import type { AccountSettings, SourceName } from './settings.ts';
import { SiteAccounts } from './site-accounts.ts';
import type { AccountSource } from './sources.ts';

export type { OidcLogin, OidcLogins } from './oidc/logins.ts';
export { oidcSettings } from './oidc/settings.ts';
export { ldapSettings } from './ldap/settings.ts';
export { pamSettings } from './pam/settings.ts';
export { followSources } from './recheck.ts';
export { accountSettings } from './settings.ts';
export { SiteAccounts } from './site-accounts.ts';
export { SourceStates } from './states.ts';
export type { AccountSource, FoundAccount, PasswordSource, SourceState } from './sources.ts';

interface Settings {
  readonly accounts: AccountSettings;
  readonly ldap: LdapSettings;
  readonly pam: PamSettings;
}

/** Undefined: no provider is set. */
export async function openOidc(settings: OidcSettings, parts: OidcParts): Promise<OidcLogins | undefined> {
  if (settings.issuer === undefined) return undefined;
  const { OidcLogins: Logins } = await import('./oidc/logins.ts');
  return new Logins(settings, parts);
}

/** The sources that the settings name, and after them those of the people who log in elsewhere. */
export function openAccounts(
  settings: Settings,
  others: readonly AccountSource[],
  parts: { readonly store: Store; readonly log: Logger },
): SiteAccounts {
  const { accounts, ldap, pam } = settings;
  const { log } = parts;
  const make: Readonly<Record<SourceName, () => AccountSource>> = {
    ldap() {
      if (!ldap.servers) throw new Fault('invalid', 'accounts.sources names ldap, but ldap.servers is not set.');
      // It cannot say that it has no such account, so nobody would be asked after it.
      if (ldap.userDn !== undefined && accounts.sources.at(-1) !== 'ldap')
        throw new Fault('invalid', 'With ldap.userDn, ldap must be the last of accounts.sources.');
      return new LdapSource(ldap, log);
    },
    pam: () => new PamSource(pam, log),
  };
  return new SiteAccounts(accounts, [...accounts.sources.map((name) => make[name]()), ...others], parts);
}
