import { Fault } from '../../core/errors.ts';
import { jsonOf } from './documents.ts';
import { type BoundedHttp, BrokenTransfer, type Response, wholeBody, within } from './http.ts';
import type { Reference } from './reference.ts';

/** What others wrote, for a sentence: short, and without what a terminal would act on. */
export function shownText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  const plain = text.replaceAll(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ').trim();
  return plain.length > 200 ? `${plain.slice(0, 200)}...` : plain;
}

const mostBytes = 64 * 1024;

/** What a registry says instead of giving what was asked for. */
export async function refusal(response: Response, registry: string, what: string, hasLogin: boolean): Promise<Fault> {
  const status = response.statusCode;
  const said = await reason(response);
  if (status === 401 || status === 403) {
    const who = hasLogin ? 'this login' : 'strangers';
    const advice = hasLogin ? 'Check it.' : `If you have a login, ${howToLogIn(registry)}`;
    return new Fault('denied', `${registry} does not let ${who} read ${what}${said}. ${advice}`);
  }
  if (status === 404) return new Fault('invalid', `${registry} has no ${what}${said}.`);
  const Kind = status === 429 || status >= 500 ? BrokenTransfer : Fault;
  return new Kind('unavailable', `${registry} answers ${status} for ${what}${said}.`);
}

const howToLogIn = (registry: string): string =>
  `give username and password with the request, or keep them by PUT /tables/passwd/rows/key=registry:${registry},username=NAME {"password":"..."}.`;

/** The status says enough where the body says nothing that can be read. */
async function reason(response: Response): Promise<string> {
  try {
    const bytes = await wholeBody(response, mostBytes, 'The answer');
    const { errors } = JSON.parse(bytes.toString('utf8')) as { errors: { code?: unknown; message?: unknown }[] };
    const { code, message } = errors[0]!;
    return ` (${shownText([code, message].filter((each) => typeof each === 'string').join(': '))})`;
  } catch {
    return '';
  }
}

/** What a 401 asks for. */
interface Challenge {
  readonly scheme: 'basic' | 'bearer';
  readonly parameters: ReadonlyMap<string, string>;
}

const longest = 8_192;

/** Reads WWW-Authenticate headers; of several schemes, tokens are preferred. Undefined: none that we know. */
export function parseChallenge(header: string | string[] | undefined): Challenge | undefined {
  const found = [header ?? []].flat().flatMap((each) => (each.length > longest ? [] : challengesIn(each)));
  return found.find(({ scheme }) => scheme === 'bearer') ?? found.find(({ scheme }) => scheme === 'basic');
}

const word = /[A-Za-z0-9!#$%&'*+.^_`|~-]+/y;
const assigned = /\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/y;

function challengesIn(header: string): Challenge[] {
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = 0;
  while (at < header.length) {
    word.lastIndex = at;
    const name = word.exec(header)?.[0];
    if (name === undefined) {
      at++;
      continue;
    }
    at += name.length;
    assigned.lastIndex = at;
    const value = assigned.exec(header);
    if (!value) found.push({ scheme: name.toLowerCase(), parameters: new Map() });
    else {
      at += value[0].length;
      found.at(-1)?.parameters.set(name.toLowerCase(), value[1]?.replace(/\\(.)/g, '$1') ?? value[2] ?? '');
    }
  }
  return found.filter((each): each is Challenge & typeof each => each.scheme === 'basic' || each.scheme === 'bearer');
}

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
  readonly #timeout: number;

  constructor(http: BoundedHttp, reference: Reference, credentials: Credentials | undefined, milliseconds: number) {
    this.#http = http;
    this.#reference = reference;
    this.#login =
      credentials && `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
    this.#timeout = milliseconds;
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
    const body = await within(this.#timeout, signal, url, async (soon) => {
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
