// A provider of OpenID Connect in a process of its own: `node provider.mjs PORT DIRECTORY`. It reads orders, lines of JSON, from standard input.
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Provider } from 'oidc-provider';

const [port, directory, redirect] = process.argv.slice(2);
const issuer = `https://127.0.0.1:${port}`;
const tls = ['key', 'cert'].map((name) => [name, readFileSync(join(directory, `${name}.pem`))]);

const newKey = () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { privateKey, jwk: { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'RS256', use: 'sig' } };
};
let key = newKey();
/** What is wrong with the ID tokens, see `spoiled`, or with its answers. */
let fault = '';
const accounts = new Map();

const configuration = {
  clients: [
    {
      client_id: 'muster',
      client_secret: 'provider-secret',
      redirect_uris: [redirect],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
    },
  ],
  features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true }, userinfo: { enabled: true } },
  claims: { openid: ['sub'], profile: ['preferred_username', 'groups', 'email', 'email_verified'] },
  scopes: ['openid', 'profile', 'offline_access'],
  conformIdTokenClaims: false,
  issueRefreshToken: async (_context, client, code) =>
    client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
  interactions: { url: (_context, interaction) => `/as/${interaction.uid}` },
  findAccount: async (_context, sub) => {
    const account = accounts.get(sub);
    return account && !account.disabled
      ? { accountId: sub, claims: async () => ({ sub, ...account.claims }) }
      : undefined;
  },
  loadExistingGrant: async ({ oidc }) => {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope('openid profile offline_access');
    await grant.save();
    return grant;
  },
  cookies: { keys: ['test'] },
  ttl: {
    DeviceCode: 600,
    Interaction: 600,
    Session: 600,
    Grant: 600,
    AccessToken: 600,
    IdToken: 600,
    RefreshToken: 600,
  },
};

let provider;
const begin = () => {
  provider = new Provider(issuer, { ...configuration, jwks: { keys: [key.jwk] } });
  provider.use(async (context, next) => {
    await next();
    if (fault !== '' && context.path === '/token' && context.body?.id_token)
      context.body = { ...context.body, id_token: spoiled(context.body.id_token) };
  });
};

const coded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function spoiled(token) {
  const [head, body] = token.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
  const claims = {
    ...body,
    ...{
      expired: { iat: body.iat - 7_200, exp: body.iat - 3_600 },
      audience: { aud: 'another-client' },
      issuer: { iss: 'https://127.0.0.1:1' },
      nonce: { nonce: 'of-somebody-else' },
    }[fault],
  };
  if (fault === 'none') return `${coded({ ...head, alg: 'none' })}.${coded(claims)}.`;
  const text = `${coded(head)}.${coded(claims)}`;
  const signer = fault === 'signature' ? newKey() : key;
  return `${text}.${createSign('sha256').update(text).sign(signer.privateKey, 'base64url')}`;
}

begin();
async function answer(request, response) {
  // Whoever asks waits until they have had enough.
  if (fault === 'silent') return;
  if (fault === 'another' && request.url === '/.well-known/openid-configuration') {
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ issuer: `${issuer}/other`, token_endpoint: `${issuer}/token` }));
  }
  const [, uid] = /^\/as\/([\w-]+)$/.exec(request.url) ?? [];
  if (uid === undefined) return provider.callback()(request, response);
  try {
    // Whoever comes says who they are.
    await provider.interactionFinished(request, response, {
      login: { accountId: request.headers['x-person'] },
      consent: {},
    });
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}
const server = createServer(Object.fromEntries(tls), (request, response) => void answer(request, response));
server.listen(Number(port), '127.0.0.1', () => console.log('ready'));

const orders = {
  person: ({ sub, disabled, claims }) => accounts.set(sub, { disabled, claims }),
  fault: ({ fault: wanted }) => (fault = wanted),
  rotate() {
    key = newKey();
    begin();
  },
};
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const order = JSON.parse(line);
    orders[order.order](order);
    console.log('done');
  })
  .on('close', () => process.exit());
