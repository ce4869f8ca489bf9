import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { parseChallenge } from './challenge.ts';
import { type Blobs, imageIn } from './choose.ts';
import { digestOf } from './digest.ts';
import { type Descriptor, jsonOf, mostDocumentBytes } from './documents.ts';
import { Hosts } from './hosts.ts';
import { BoundedHttp, BrokenTransfer, type Patience, patience, type Response, transportFault } from './http.ts';
import type { Image, Wanted } from './image.ts';
import { checkDocument } from './layout.ts';
import { acceptedTypes } from './media-types.ts';
import type { Reference } from './reference.ts';
import { shownText } from './shown-text.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface RegistryOptions {
  /** host or host:port of those that the configuration names: they may be on this machine. */
  readonly registries: readonly string[];
  /** The same, asked without TLS. */
  readonly insecureRegistries: readonly string[];
  readonly ca?: string | undefined;
  readonly credentials?: Credentials | undefined;
  readonly patience?: Patience;
}

const mostTokenBytes = 1 << 20;
/** Attempts of a blob in a row that have not brought much. */
const mostAttempts = 5;
const muchProgress = 1 << 20;

/** One repository of a registry, by the distribution protocol. */
export class Registry {
  readonly #reference: Reference;
  readonly #options: RegistryOptions;
  readonly #http: BoundedHttp;
  readonly #patience: Patience;
  readonly #base: URL;
  #authorization: string | undefined;

  constructor(reference: Reference, options: RegistryOptions) {
    const { registries, insecureRegistries: insecure } = options;
    const scheme = insecure.includes(reference.registry) ? 'http' : 'https';
    this.#reference = reference;
    this.#options = options;
    this.#patience = options.patience ?? patience;
    this.#base = new URL(`${scheme}://${reference.registry}/v2/${reference.name}/`);
    const plain = insecure.map((each) => withPort(each, 80));
    const hosts = new Hosts([...registries.map((each) => withPort(each, 443)), ...plain]);
    this.#http = new BoundedHttp(hosts, plain, options.ca, this.#patience);
  }

  async image(wanted: Wanted, signal: AbortSignal): Promise<Image> {
    const { selector } = this.#reference;
    const { bytes, descriptor } = await this.#manifest(selector, signal);
    const blobs: Blobs = {
      document: (each) => (each.digest === descriptor.digest ? Promise.resolve(bytes) : this.#document(each, signal)),
      open: (each, aborted) => this.blob(each, aborted),
    };
    return imageIn(blobs, descriptor, wanted, this.#shown, signal);
  }

  /** The bytes of a blob. A transfer that breaks is resumed where it was. */
  async *blob({ digest, size }: Descriptor, signal: AbortSignal): AsyncIterable<Buffer> {
    const url = new URL(`blobs/${digest}`, this.#base);
    let at = 0;
    let tried = 0;
    let mark = 0;
    while (at < size) {
      try {
        for await (const chunk of this.#from(url, at, signal)) {
          at += chunk.length;
          if (at > size)
            throw new Fault('garbled', `${digest} of ${this.#shown} has more than the ${size} bytes it should have.`);
          yield chunk;
        }
        if (at < size) throw new BrokenTransfer('unavailable', `${url.host} ended a transfer too early.`);
      } catch (error) {
        signal.throwIfAborted();
        const fault = transportFault(url, error);
        if (!(fault instanceof BrokenTransfer)) throw fault;
        tried = at - mark >= muchProgress ? 1 : tried + 1;
        mark = at;
        if (tried === mostAttempts)
          throw new Fault('unavailable', `${digest} of ${this.#shown} cannot be fetched: ${fault.message}`, {
            cause: error,
          });
        await sleep(this.#patience.pause * tried, undefined, { signal });
      }
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  get #shown(): string {
    const { registry, name, selector, digest } = this.#reference;
    return `${registry}/${name}${digest === undefined ? ':' : '@'}${selector}`;
  }

  /** A part of a blob from a place on. A registry that does not know ranges sends it from the beginning. */
  async *#from(url: URL, start: number, signal: AbortSignal): AsyncIterable<Buffer> {
    const response = await this.#get(url, start === 0 ? {} : { range: `bytes=${start}-` }, signal);
    const { statusCode, headers, body } = response;
    if (statusCode === 206 && !String(headers['content-range']).startsWith(`bytes ${start}-`)) {
      body.destroy();
      throw new Fault('garbled', `${url.host} answers with another part than it was asked for.`);
    }
    let unwanted = statusCode === 206 ? 0 : start;
    const { window, leastBytes } = this.#patience;
    let since = Date.now();
    let came = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      came += chunk.length;
      if (Date.now() - since > window) {
        if (came < leastBytes)
          throw new Fault('unavailable', `${url.host} sends too slowly: ${came} bytes in ${window / 1_000} s.`);
        since = Date.now();
        came = 0;
      }
      const left = Math.min(unwanted, chunk.length);
      unwanted -= left;
      if (left < chunk.length) yield chunk.subarray(left);
    }
  }

  async #manifest(selector: string, signal: AbortSignal): Promise<{ bytes: Buffer; descriptor: Descriptor }> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(this.#patience.document)]);
    const response = await this.#get(new URL(`manifests/${selector}`, this.#base), { accept: acceptedTypes }, within);
    const bytes = await this.#whole(response, mostDocumentBytes, 'manifest', within, signal);
    const digest = digestOf(bytes);
    const expected = this.#reference.digest ?? response.headers['docker-content-digest'];
    if (expected !== undefined && expected !== digest)
      throw new Fault(
        'garbled',
        `The manifest of ${this.#shown} is not what its digest ${shownText(String(expected))} says.`,
      );
    const said = (jsonOf(bytes, `The manifest of ${this.#shown}`) as { mediaType?: unknown } | null)?.mediaType;
    const [type] = String(response.headers['content-type'] ?? '').split(';');
    const mediaType = typeof said === 'string' ? said : type!.trim();
    return { bytes, descriptor: { mediaType, digest, size: bytes.length } };
  }

  /** A manifest or a configuration by its digest. */
  async #document(descriptor: Descriptor, signal: AbortSignal): Promise<Buffer> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(this.#patience.document)]);
    const kind =
      descriptor.mediaType.includes('config') || descriptor.mediaType.includes('container.image')
        ? 'blobs'
        : 'manifests';
    const response = await this.#get(
      new URL(`${kind}/${descriptor.digest}`, this.#base),
      { accept: acceptedTypes },
      within,
    );
    const bytes = await this.#whole(response, mostDocumentBytes, descriptor.digest, within, signal);
    checkDocument(bytes, descriptor, this.#shown);
    return bytes;
  }

  /** Asks with what authorization there is, and once more if it is not enough. */
  async #get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const ask = (): Promise<Response> => this.#http.get({ url, headers, authorization: this.#authorization, signal });
    let response = await ask();
    if (response.statusCode === 401) {
      response.body.destroy();
      this.#authorization = await this.#authorize(response.headers['www-authenticate'], signal);
      response = await ask();
    }
    if (response.statusCode === 200 || response.statusCode === 206) return response;
    throw await this.#refusal(response, signal);
  }

  async #authorize(header: string | string[] | undefined, signal: AbortSignal): Promise<string> {
    const { credentials } = this.#options;
    const { registry, name } = this.#reference;
    const challenge = parseChallenge(header);
    const basic =
      credentials && `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
    if (!challenge) throw new Fault('denied', `${registry} wants a login of a kind that is not known here.`);
    if (challenge.scheme === 'basic') {
      if (basic !== undefined) return basic;
      throw new Fault('denied', `${registry} wants a login: ${howToLogIn(registry)}`);
    }
    const realm = challenge.parameters.get('realm') ?? '';
    if (!URL.canParse(realm)) throw new Fault('garbled', `${registry} wants a token but does not say where to get it.`);
    const url = new URL(realm);
    const service = challenge.parameters.get('service');
    if (service !== undefined) url.searchParams.set('service', service);
    // What we need is known better here than there; registries ask for more in their challenges.
    url.searchParams.set('scope', `repository:${name}:pull`);
    const within = AbortSignal.any([signal, AbortSignal.timeout(this.#patience.document)]);
    const response = await this.#http.get({ url, headers: {}, authorization: basic, signal: within });
    if (response.statusCode !== 200) throw await this.#refusal(response, signal);
    const body = jsonOf(
      await this.#whole(response, mostTokenBytes, 'token', within, signal),
      `The token of ${url.host}`,
    );
    const { token, access_token: other } = (body ?? {}) as { token?: unknown; access_token?: unknown };
    const found = typeof token === 'string' && token !== '' ? token : other;
    if (typeof found !== 'string' || !/^[\x21-\x7e]+$/.test(found))
      throw new Fault('garbled', `${url.host} answers with no token.`);
    return `Bearer ${found}`;
  }

  async #whole(
    response: Response,
    most: number,
    what: string,
    within: AbortSignal,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let size = 0;
    try {
      for await (const piece of response.body as AsyncIterable<Buffer>) {
        size += piece.length;
        if (size > most) throw new Fault('garbled', `The ${what} of ${this.#shown} has more than ${most} bytes.`);
        pieces.push(piece);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (within.aborted)
        throw new Fault('unavailable', `The ${what} of ${this.#shown} comes too slowly.`, { cause: error });
      throw transportFault(this.#base, error);
    }
    return Buffer.concat(pieces, size);
  }

  async #refusal(response: Response, signal: AbortSignal): Promise<Fault> {
    const { registry } = this.#reference;
    const status = response.statusCode;
    const text = await this.#whole(response, 64 * 1024, 'answer', signal, signal).catch(() => Buffer.alloc(0));
    const said = errorIn(text);
    if (status === 401 || status === 403) {
      const known = this.#options.credentials !== undefined;
      return new Fault(
        'denied',
        `${registry} does not let ${known ? 'this login' : 'strangers'} read ${this.#shown}${said}. ${known ? 'Check it.' : howToLogIn(registry)}`,
      );
    }
    if (status === 404) return new Fault('invalid', `${registry} has no ${this.#shown}${said}.`);
    const Kind = status === 429 || status >= 500 ? BrokenTransfer : Fault;
    return new Kind('unavailable', `${registry} answers ${status} for ${this.#shown}${said}.`);
  }
}

const howToLogIn = (registry: string): string =>
  `give username and password with the request, or keep them by PUT /tables/passwd/rows/key=registry:${registry},username=NAME {"password":"..."}.`;

function errorIn(bytes: Buffer): string {
  try {
    const { errors } = JSON.parse(bytes.toString('utf8')) as { errors: { code?: unknown; message?: unknown }[] };
    const { code, message } = errors[0]!;
    return ` (${shownText([code, message].filter((each) => typeof each === 'string').join(': '))})`;
  } catch {
    return '';
  }
}

/** Ports are part of what is compared. */
const withPort = (registry: string, port: number): string =>
  /:[0-9]+$/.test(registry) ? registry : `${registry}:${port}`;
