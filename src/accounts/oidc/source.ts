import * as oidc from 'openid-client';
import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import { listItems } from '../../core/list-items.ts';
import { ownOrigin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import { sealer } from '../../objects/accounts.ts';
import type { AccountSource, FoundAccount, SourceState } from '../sources.ts';
import { accountIn } from './claims.ts';
import type { Provider } from './provider.ts';

/** As the column `source` of table siteaccount has it. */
export const oidcSource = 'oidc';
const context = 'oidcgrant.refresh';

interface Parts {
  readonly store: Store;
  readonly box: SecretBox;
}

/** Accounts whose people log in at the provider. It is asked about them with the refresh token of their last login, if it gave one. */
export class OidcSource implements AccountSource {
  readonly name = oidcSource;
  readonly #provider: Provider;
  readonly #parts: Parts;

  constructor(provider: Provider, parts: Parts) {
    this.#provider = provider;
    this.#parts = parts;
  }

  /** Undefined: the provider takes the refresh token no longer, so the account is disabled there, or the person has ended the login. */
  async look(name: string): Promise<FoundAccount | undefined> {
    const { store, box } = this.#parts;
    const row = store.current.get('siteaccount', name);
    const sealed = store.current.get('oidcgrant', name)?.['refresh'];
    if (!row || sealed === undefined) throw unasked(name);
    try {
      const configuration = await this.#provider.configuration();
      const tokens = await oidc.refreshTokenGrant(configuration, box.open(sealed, context));
      if (tokens.refresh_token !== undefined) await this.keep(name, row['id'] ?? '', tokens.refresh_token);
      const known = row['id'] ?? '';
      const { issuer, userinfo_endpoint: endpoint } = configuration.serverMetadata();
      const sub = known.slice(known.indexOf(' ') + 1);
      const more = endpoint === undefined ? {} : await oidc.fetchUserInfo(configuration, tokens.access_token, sub);
      const claims = { ...more, ...tokens.claims() };
      // Some say no more than that the account is still there.
      if (Object.keys(claims).length === 0) return { id: known, groups: listItems(row['groups'] ?? '') };
      const { id, groups } = accountIn({ iss: issuer, ...claims }, this.#provider.settings);
      return { id, groups };
    } catch (error) {
      const isSame = store.current.get('oidcgrant', name)?.['refresh'] === sealed;
      // Somebody who has logged in meanwhile has another one.
      if (isSame && error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant') return undefined;
      const fault = this.#provider.faultOf(error);
      throw fault.kind === 'unavailable' ? fault : new Fault('unavailable', [...fault.sentences]);
    }
  }

  /** Keeps what the provider may be asked with later, sealed; undefined: nothing any more. */
  async keep(name: string, id: string, refresh: string | undefined): Promise<void> {
    const { store, box } = this.#parts;
    if (refresh === undefined && !store.current.get('oidcgrant', name)) return;
    await store.change(ownOrigin('site-accounts'), (head) => {
      const draft = new Draft(head, sealer(box));
      if (head.get('siteaccount', name)?.['id'] !== id) return [];
      if (refresh === undefined) draft.remove('oidcgrant', name);
      else draft.merge('oidcgrant', name, { username: name, refresh });
      return draft.changes();
    });
  }

  async states(): Promise<readonly SourceState[]> {
    const name = this.#provider.settings.issuer!;
    try {
      const metadata = (await this.#provider.configuration()).serverMetadata();
      const ways = metadata.device_authorization_endpoint === undefined ? 'browsers' : 'browsers and command lines';
      return [{ name, problem: undefined, says: `offers logins of ${ways}` }];
    } catch (error) {
      return [{ name, problem: this.#provider.faultOf(error).message.replace(/\.$/, ''), says: '' }];
    }
  }

  close(): void {
    this.#provider.close();
  }
}

const unasked = (name: string): Fault =>
  new Fault('unavailable', `The provider of OpenID Connect gave no refresh token for ${name}, so it cannot be asked.`);
