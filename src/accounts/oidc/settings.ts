import { Type } from 'typebox';
import { Fault } from '../../core/errors.ts';
import { Count, kind, Names, Path, setting, Switch, type ValuesOf } from '../../core/settings.ts';

const isHttps = (text: string): boolean => {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.search === '' && url.hash === '';
};
const HttpsUrl = kind('a URL that begins with https://', Type.Refine(Type.String(), isHttps));
const Text = kind('a text that is not empty', Type.String({ minLength: 1 }));

/** Section `oidc`: logins at a provider of OpenID Connect. */
export const oidcSettings = Type.Decode(
  Type.Object({
    issuer: setting(HttpsUrl, 'the provider, by its issuer URL; without it nobody logs in by OpenID Connect', {
      defaultText: 'none',
    }),
    client: setting(Text, 'the client ID that the provider has given muster', { defaultText: 'none' }),
    secretFile: setting(Path, 'the file with the secret of the client; without it muster is a public client', {
      defaultText: 'none',
    }),
    url: setting(
      HttpsUrl,
      'how browsers reach muster, such as `https://mn:8443`; without it only `muster login --oidc` works',
      {
        defaultText: 'none',
      },
    ),
    device: setting(Switch, 'whether `muster login --oidc` works (device authorization)', { default: true }),
    scopes: setting(
      Names,
      'the scopes that muster asks for; `offline_access` lets it ask later whether the account is still there',
      {
        default: ['openid', 'profile'],
      },
    ),
    name: setting(Text, 'the claim that has the name of the account', { default: 'preferred_username' }),
    domain: setting(Text, 'names must end with `@` and this, which muster cuts off', {
      defaultText: 'names stay as they are',
    }),
    groups: setting(Text, 'the claim that has the names of the groups', { default: 'groups' }),
    ca: setting(Path, 'the certificate authority of the provider, as PEM, instead of those of the system', {
      defaultText: 'those of the system',
    }),
    skew: setting(Count, 'seconds by which the clocks of muster and the provider may differ', { default: 30 }),
    timeout: setting(Count, 'seconds that the provider has for each answer', { default: 10 }),
  }),
  (settings) => {
    if (settings.issuer !== undefined && settings.client === undefined)
      throw new Fault('invalid', 'oidc.issuer is set, so oidc.client must be set too.');
    if (!settings.scopes.includes('openid'))
      throw new Fault('invalid', 'oidc.scopes must have "openid": without it the provider does not say who logs in.');
    return settings;
  },
);
export type OidcSettings = ValuesOf<typeof oidcSettings>;
