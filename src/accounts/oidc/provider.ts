import { readFileSync } from 'node:fs';
import * as oidc from 'openid-client';
import { Agent, fetch } from 'undici';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { OidcSettings } from './settings.ts';

/** Milliseconds for which what the provider says of itself, and its keys, are kept. */
const keptFor = 600_000;
/** After an answer that did not come, so that not everybody waits for the next. */
const restFor = 5_000;
const largestAnswer = 1_048_576;

interface Kept<T> {
  readonly value: T;
  readonly until: number;
}

/** The provider, as far as it is asked over the network. Its description and keys are kept; nothing else is. */
export class Provider {
  readonly settings: OidcSettings;
  readonly #log: Logger;
  readonly #agent: Agent;
  readonly #secret: string | undefined;
  #metadata: Kept<oidc.ServerMetadata> | undefined;
  #asking: Promise<oidc.ServerMetadata> | undefined;
  #keys: Kept<{ readonly text: string; readonly ids: ReadonlySet<string> }> | undefined;
  #resting: Kept<Fault> | undefined;

  constructor(settings: OidcSettings, log: Logger) {
    this.settings = settings;
    this.#log = log;
    this.#secret = settings.secretFile === undefined ? undefined : secretIn(settings.secretFile);
    const ca = settings.ca === undefined ? {} : { ca: readFileSync(settings.ca, 'utf8') };
    this.#agent = new Agent({ connect: { ...ca, timeout: settings.timeout * 1_000 }, connections: 16 });
  }

  /** What one login is done with. `watch` sees the answers of the token endpoint before anybody else. */
  async configuration(watch?: (answer: string) => void): Promise<oidc.Configuration> {
    const metadata = await this.#described();
    const { client, skew } = this.settings;
    const known = {
      [oidc.clockTolerance]: skew,
      ...(this.#secret === undefined ? {} : { client_secret: this.#secret }),
    };
    const way = this.#secret === undefined ? oidc.None() : wayFor(metadata, this.#secret);
    const configuration = new oidc.Configuration(metadata, client!, known, way);
    configuration.timeout = this.settings.timeout;
    configuration[oidc.customFetch] = (url, options) => this.#fetch(url, options, metadata, watch);
    // Who signed the token is checked, and not only who sent it.
    oidc.enableNonRepudiationChecks(configuration);
    return configuration;
  }

  /** What went wrong, for whoever wants to log in: the provider is away, or has refused. */
  faultOf(error: unknown): Fault {
    if (error instanceof Fault) return error;
    const { code, name, message } = error as Error & { readonly code?: string };
    const cause = (error as Error).cause;
    if (cause instanceof Fault) return cause;
    if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
      const said = /^\w{1,40}$/.test(error.error) ? error.error : 'an error';
      return refused(`The provider of OpenID Connect refused the login: ${said}.`);
    }
    // Not the error itself: what it says of the cause may be tokens.
    this.#log.warn(
      `An answer of the provider of OpenID Connect was not taken: ${name}, ${code ?? 'no code'}, ${message}`,
    );
    return refused(
      `The answer of the provider of OpenID Connect was not taken (${code ?? name}: ${message.slice(0, 200)}).`,
    );
  }

  close(): void {
    void this.#agent.destroy();
  }

  #described(): Promise<oidc.ServerMetadata> {
    const now = performance.now();
    if (this.#metadata && this.#metadata.until > now) return Promise.resolve(this.#metadata.value);
    if (this.#resting && this.#resting.until > now) return Promise.reject(this.#resting.value);
    return (this.#asking ??= this.#describe().finally(() => (this.#asking = undefined)));
  }

  async #describe(): Promise<oidc.ServerMetadata> {
    const { issuer, client, timeout } = this.settings;
    try {
      const found = await oidc.discovery(new URL(issuer!), client!, undefined, undefined, {
        [oidc.customFetch]: (url, options) => this.#fetch(url, options),
        timeout,
      });
      const value = found.serverMetadata();
      if (value.issuer !== issuer!.replace(/\/$/, '') && value.issuer !== issuer)
        throw new Fault('unavailable', `The provider calls itself ${value.issuer}, and oidc.issuer is ${issuer!}.`);
      this.#metadata = { value, until: performance.now() + keptFor };
      return value;
    } catch (error) {
      const fault = error instanceof Fault ? error : away(error);
      this.#log.warn({ err: error }, 'the provider of OpenID Connect does not describe itself');
      this.#resting = { value: fault, until: performance.now() + restFor };
      throw fault;
    }
  }

  async #fetch(
    url: string,
    options: oidc.CustomFetchOptions,
    metadata?: oidc.ServerMetadata,
    watch?: (answer: string) => void,
  ): Promise<Response> {
    const isKeys = metadata !== undefined && url === metadata.jwks_uri;
    if (isKeys && this.#keys && this.#keys.until > performance.now()) return jsonReply(this.#keys.value.text);
    let status: number;
    let headers: Headers;
    let text: string;
    try {
      const { body, method, redirect } = options;
      const signal = AbortSignal.timeout(this.settings.timeout * 1_000);
      const reply = await fetch(url, {
        method,
        redirect,
        headers: options.headers,
        dispatcher: this.#agent,
        signal,
        body: body instanceof URLSearchParams ? body.toString() : ((body as string | undefined) ?? null),
      });
      ({ status } = reply);
      headers = new Headers([...reply.headers]);
      text = await shortText(reply.body);
    } catch (error) {
      throw away(error);
    }
    if (status >= 500) throw away(new Error(`it answered ${url} with status ${status}`));
    if (isKeys && status === 200) this.#keys = { value: keysIn(text), until: performance.now() + keptFor };
    if (metadata !== undefined && url === metadata.token_endpoint) {
      this.#forgetOldKeys(text);
      watch?.(text);
    }
    return new Response(status === 204 ? null : text, { status, headers });
  }

  /** A token that is signed with a key we have not seen: the provider has changed its keys. */
  #forgetOldKeys(answer: string): void {
    const kid = keyIdOf(answer);
    if (kid !== undefined && this.#keys?.value.ids.has(kid) === false) this.#keys = undefined;
  }
}

const refused = (sentence: string): Fault => new Fault('unauthenticated', ['Authentication failure', sentence]);

const away = (cause: unknown): Fault =>
  new Fault(
    'unavailable',
    'The provider of OpenID Connect does not answer, so nobody can log in by it at the moment. Other logins work.',
    { retryAfter: 10, cause: cause as Error },
  );

function secretIn(file: string): string {
  const secret = readFileSync(file, 'utf8').trim();
  if (secret === '') throw new Fault('invalid', `oidc.secretFile: ${file} is empty.`);
  return secret;
}

const wayFor = (
  { token_endpoint_auth_methods_supported: ways }: oidc.ServerMetadata,
  secret: string,
): oidc.ClientAuth =>
  ways?.includes('client_secret_basic') === false ? oidc.ClientSecretPost(secret) : oidc.ClientSecretBasic(secret);

const jsonReply = (text: string): Response => new Response(text, { headers: { 'content-type': 'application/json' } });

async function shortText(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > largestAnswer) throw new Error(`the provider answered with more than ${largestAnswer} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function keysIn(text: string): { readonly text: string; readonly ids: ReadonlySet<string> } {
  const { keys } = readJson(text) as { readonly keys?: readonly { readonly kid?: unknown }[] };
  return { text, ids: new Set(Array.isArray(keys) ? keys.map(({ kid }) => String(kid)) : []) };
}

function keyIdOf(answer: string): string | undefined {
  const { id_token: token } = readJson(answer) as { readonly id_token?: unknown };
  if (typeof token !== 'string') return undefined;
  const { kid } = readJson(Buffer.from(token.split('.', 1)[0]!, 'base64url').toString('utf8')) as {
    readonly kid?: unknown;
  };
  return typeof kid === 'string' ? kid : undefined;
}

function readJson(text: string): object {
  try {
    return (JSON.parse(text) as object | null) ?? {};
  } catch {
    return {};
  }
}
