import { Fault } from '../../core/errors.ts';
import { parseChallenge } from './challenge.ts';
import { jsonOf } from './documents.ts';
import { type BoundedHttp, wholeBody, within } from './http.ts';
import type { Reference } from './reference.ts';
import { howToLogIn, refusal } from './refusal.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

const mostTokenBytes = 1 << 20;

/** What is shown to a registry: nothing, a login, or a token that the registry's token service gives for the login or to anybody. */
export class Authorizer {
  /** Undefined until the registry has asked for it. */
  authorization: string | undefined;
  readonly #http: BoundedHttp;
  readonly #reference: Reference;
  readonly #login: string | undefined;
  readonly #patience: number;

  constructor(http: BoundedHttp, reference: Reference, credentials: Credentials | undefined, milliseconds: number) {
    this.#http = http;
    this.#reference = reference;
    this.#login =
      credentials && `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
    this.#patience = milliseconds;
  }

  get hasLogin(): boolean {
    return this.#login !== undefined;
  }

  /** Does what the header of a 401 asks for. */
  async authorize(header: string | string[] | undefined, signal: AbortSignal): Promise<void> {
    const { registry } = this.#reference;
    const challenge = parseChallenge(header);
    if (!challenge) throw new Fault('denied', `${registry} wants a login of a kind that is not known here.`);
    if (challenge.scheme === 'bearer') this.authorization = await this.#token(challenge.parameters, signal);
    else if (this.#login !== undefined) this.authorization = this.#login;
    else throw new Fault('denied', `${registry} wants a login: ${howToLogIn(registry)}`);
  }

  async #token(parameters: ReadonlyMap<string, string>, signal: AbortSignal): Promise<string> {
    const { registry, name } = this.#reference;
    const realm = parameters.get('realm') ?? '';
    if (!URL.canParse(realm)) throw new Fault('garbled', `${registry} wants a token but does not say where to get it.`);
    const url = new URL(realm);
    const service = parameters.get('service');
    if (service !== undefined) url.searchParams.set('service', service);
    // What we need is known better here than there: registries ask for more in their challenges.
    url.searchParams.set('scope', `repository:${name}:pull`);
    const body = await within(this.#patience, signal, url, async (soon) => {
      const { response } = await this.#http.get({ url, headers: {}, authorization: this.#login, signal: soon });
      if (response.statusCode !== 200) throw await refusal(response, registry, `${registry}/${name}`, this.hasLogin);
      return jsonOf(await wholeBody(response, mostTokenBytes, `The token of ${url.host}`), `The token of ${url.host}`);
    });
    const { token, access_token: other } = (body ?? {}) as { token?: unknown; access_token?: unknown };
    const found = typeof token === 'string' && token !== '' ? token : other;
    if (typeof found !== 'string' || !/^[\x21-\x7e]+$/.test(found))
      throw new Fault('garbled', `${url.host} answers with no token.`);
    return `Bearer ${found}`;
  }
}
