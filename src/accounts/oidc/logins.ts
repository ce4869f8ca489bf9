import { randomUUID } from 'node:crypto';
import * as oidc from 'openid-client';
import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { Store } from '../../database/store.ts';
import { isEnabled } from '../../database/tables.ts';
import type { SiteAccounts } from '../site-accounts.ts';
import { Slots } from '../slots.ts';
import { accountIn, type Claims } from './claims.ts';
import { Provider } from './provider.ts';
import { OidcSource, oidcSource } from './source.ts';
import type { OidcSettings } from './settings.ts';

/** Somebody who has logged in at the provider, and what the account is known by. */
export interface OidcLogin {
  readonly user: string;
  readonly login: string;
}

/** A login that begins at a command line: what a person has to do elsewhere. */
export interface DeviceLogin {
  /** Sealed: it is shown again whenever somebody asks whether the person has done it. */
  readonly flow: string;
  readonly code: string;
  readonly url: string;
  /** With the code in it, if the provider has such an address. */
  readonly completeUrl: string | undefined;
  /** Seconds between two questions, and until it ends. */
  readonly interval: number;
  readonly seconds: number;
}

/** A login that begins in a browser. */
export interface BrowserLogin {
  /** Where the browser goes. */
  readonly url: string;
  /** What it brings back, sealed. */
  readonly flow: string;
}

const browserTime = 600_000;
const longestDeviceTime = 1_800;
const callbackPath = '/muster/session/oidc/callback';

interface DeviceFlow {
  readonly id: string;
  readonly deviceCode: string;
  readonly until: number;
}

interface BrowserFlow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly until: number;
}

export interface OidcParts {
  readonly store: Store;
  readonly box: SecretBox;
  readonly log: Logger;
}

/** Logins at the provider. Nothing of a login under way is kept here: what belongs to it is sealed and with whoever logs in, so every server can go on with it. */
export class OidcLogins {
  readonly source: OidcSource;
  readonly settings: OidcSettings;
  readonly #provider: Provider;
  readonly #parts: OidcParts;
  readonly #slots = new Slots(8);
  /** When a login may be asked for again; by its ID. */
  readonly #next = new Map<string, number>();

  constructor(settings: OidcSettings, parts: OidcParts) {
    this.settings = settings;
    this.#parts = parts;
    this.#provider = new Provider(settings, parts.log);
    this.source = new OidcSource(this.#provider, parts);
  }

  async beginDevice(): Promise<DeviceLogin> {
    if (!this.settings.device)
      throw new Fault('denied', 'Logins of command lines are switched off here (oidc.device).');
    return this.#asked(async () => {
      const configuration = await this.#provider.configuration();
      if (configuration.serverMetadata().device_authorization_endpoint === undefined)
        throw new Fault(
          'denied',
          'The provider of OpenID Connect has no logins for command lines (device authorization).',
        );
      const answer = await oidc.initiateDeviceAuthorization(configuration, { scope: this.settings.scopes.join(' ') });
      const seconds = Math.min(answer.expires_in, longestDeviceTime);
      const flow: DeviceFlow = {
        id: randomUUID(),
        deviceCode: answer.device_code,
        until: Date.now() + seconds * 1_000,
      };
      return {
        flow: this.#seal('device', flow),
        code: answer.user_code,
        url: answer.verification_uri,
        completeUrl: answer.verification_uri_complete,
        interval: answer.interval ?? 5,
        seconds,
      };
    });
  }

  /** Asks once whether the person has logged in; a number says in how many seconds to ask again. */
  async askDevice(sites: SiteAccounts, sealed: string): Promise<OidcLogin | number> {
    const { id, deviceCode, until } = this.#open<DeviceFlow>('device', sealed);
    const now = performance.now();
    if ((this.#next.get(id) ?? 0) > now) return 5;
    this.#next.set(id, now + 1_000);
    if (this.#next.size > 10_000) this.#next.clear();
    let pending: number | undefined;
    return this.#asked(async () => {
      const configuration = await this.#provider.configuration((answer) => {
        pending = secondsToWait(answer);
        if (pending !== undefined) throw new Fault('unavailable', 'The person has not logged in yet.');
      });
      const started = { device_code: deviceCode, user_code: '', verification_uri: '', expires_in: 1, interval: 0 };
      const signal = AbortSignal.timeout(Math.max(1, Math.min(until - Date.now(), this.settings.timeout * 1_000)));
      const tokens = await oidc
        .pollDeviceAuthorizationGrant(configuration, started, undefined, { signal })
        .catch((error: unknown) => {
          if (pending === undefined) throw error;
        });
      return tokens ? this.#admit(sites, configuration, tokens) : pending!;
    });
  }

  async beginBrowser(): Promise<BrowserLogin> {
    const redirect = this.#redirect();
    return this.#asked(async () => {
      const configuration = await this.#provider.configuration();
      const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
      const flow: BrowserFlow = { state, nonce, verifier, until: Date.now() + browserTime };
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirect,
        scope: this.settings.scopes.join(' '),
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
        ...(this.settings.scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
      });
      return { url: url.href, flow: this.#seal('browser', flow) };
    });
  }

  /** `query`: what the provider has sent the browser back with; `sealed`: what the browser has kept. */
  async endBrowser(sites: SiteAccounts, query: string, sealed: string): Promise<OidcLogin> {
    const { state, nonce, verifier } = this.#open<BrowserFlow>('browser', sealed);
    const url = new URL(this.#redirect());
    url.search = query;
    return this.#asked(async () => {
      const configuration = await this.#provider.configuration();
      const tokens = await oidc.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      return this.#admit(sites, configuration, tokens);
    });
  }

  #redirect(): string {
    const { url } = this.settings;
    if (url === undefined)
      throw new Fault('denied', 'Logins of browsers at a provider are switched off here (oidc.url).');
    return url.replace(/\/$/, '') + callbackPath;
  }

  async #asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#slots.take(work);
    } catch (error) {
      throw this.#provider.faultOf(error);
    }
  }

  async #admit(
    sites: SiteAccounts,
    configuration: oidc.Configuration,
    tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
  ): Promise<OidcLogin> {
    const found = accountIn(await claimsOf(configuration, tokens, this.settings), this.settings);
    const { current } = this.#parts.store;
    const user = sites.nameOf(current, found.name);
    if (user === undefined)
      throw new Fault('unauthenticated', [
        'Authentication failure',
        `Nobody from the provider of OpenID Connect can have the name "${found.name.slice(0, 80)}" here: it is one of table passwd, is root, or has characters that names do not have.`,
      ]);
    const row = current.get('siteaccount', user);
    // A name can be changed at many providers: somebody else must not get what its owner has here.
    if (row && isEnabled(row) && row['source'] === oidcSource && row['id'] !== found.id && !sites.isTooOld(row))
      throw new Fault('unauthenticated', [
        'Authentication failure',
        `The name "${user}" belongs to another identity of the provider, which was here lately.`,
      ]);
    const login = await sites.admit(this.source, user, found);
    await this.source.keep(user, found.id, tokens.refresh_token);
    return { user, login };
  }

  #seal(kind: string, flow: object): string {
    return this.#parts.box.seal(JSON.stringify(flow), `oidc.${kind}`);
  }

  #open<T extends { readonly until: number }>(kind: string, sealed: string): T {
    const { box } = this.#parts;
    const context = `oidc.${kind}`;
    const flow = box.opens(sealed, context) ? (JSON.parse(box.open(sealed, context)) as T) : undefined;
    if (flow && flow.until > Date.now()) return flow;
    throw new Fault('unauthenticated', [
      'Authentication failure',
      'This login was not begun here, or it took too long. Begin again.',
    ]);
  }
}

/** What the token says, and what only the provider says when it is asked: of the same person. */
async function claimsOf(
  configuration: oidc.Configuration,
  tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
  { name, groups }: OidcSettings,
): Promise<Claims> {
  const claims: Claims | undefined = tokens.claims();
  if (claims === undefined)
    throw new Fault('unauthenticated', ['Authentication failure', 'The provider of OpenID Connect sent no ID token.']);
  const isWhole = claims[name] !== undefined && claims[groups] !== undefined;
  if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  const more = await oidc.fetchUserInfo(configuration, tokens.access_token, String(claims['sub']));
  return { ...more, ...claims };
}

/** Undefined: the answer is a token, or says that there will be none. */
function secondsToWait(answer: string): number | undefined {
  let error: unknown;
  try {
    ({ error } = JSON.parse(answer) as { readonly error?: unknown });
  } catch {
    return undefined;
  }
  return error === 'authorization_pending' ? 5 : error === 'slow_down' ? 10 : undefined;
}
