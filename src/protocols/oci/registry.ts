import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { Authorizer, type Credentials, refusal, shownText } from './authorizer.ts';
import { acceptedTypes, type Blobs, imageIn, indexTypes, manifestTypes } from './choose.ts';
import { digestOf, type Reference } from './reference.ts';
import { type Descriptor, jsonOf, mostDocumentBytes } from './documents.ts';
import { Hosts } from './hosts.ts';
import {
  type Answer,
  BoundedHttp,
  BrokenTransfer,
  discard,
  type Response,
  type Timeouts,
  transportFault,
  usualTimeouts,
  wholeBody,
  within,
} from './http.ts';
import type { Image, Wanted } from './image.ts';
import { checkDocument } from './archive.ts';

export interface RegistryOptions {
  /** host or host:port of those that the configuration names: they may be on this machine. */
  readonly registries: readonly string[];
  /** The same, asked without TLS. */
  readonly insecureRegistries: readonly string[];
  readonly ca?: string | undefined;
  readonly credentials?: Credentials | undefined;
  readonly timeouts?: Timeouts;
}

/** Attempts of a blob in a row that have not brought much. */
const mostAttempts = 5;
const muchProgress = 1 << 20;

/** One repository of a registry, by the distribution protocol. */
export class Registry {
  readonly #reference: Reference;
  readonly #http: BoundedHttp;
  readonly #timeouts: Timeouts;
  readonly #base: URL;
  readonly #authorizer: Authorizer;
  readonly #shown: string;

  constructor(reference: Reference, options: RegistryOptions) {
    const { registries, insecureRegistries: insecure, credentials } = options;
    const { registry, name, selector, digest } = reference;
    const scheme = insecure.includes(registry) ? 'http' : 'https';
    this.#reference = reference;
    this.#shown = `${registry}/${name}${digest === undefined ? ':' : '@'}${selector}`;
    this.#timeouts = options.timeouts ?? usualTimeouts;
    this.#base = new URL(`${scheme}://${registry}/v2/${name}/`);
    const plain = insecure.map((each) => withPort(each, 80));
    const hosts = new Hosts([...registries.map((each) => withPort(each, 443)), ...plain]);
    this.#http = new BoundedHttp(hosts, plain, options.ca, this.#timeouts);
    this.#authorizer = new Authorizer(this.#http, reference, credentials, this.#timeouts.document);
  }

  async image(wanted: Wanted, signal: AbortSignal): Promise<Image> {
    const { bytes, descriptor } = await this.#manifest(signal);
    const blobs: Blobs = {
      document: (each) => (each.digest === descriptor.digest ? Promise.resolve(bytes) : this.#document(each, signal)),
      open: (each, aborted) => this.#blob(each, aborted),
    };
    return imageIn(blobs, descriptor, wanted, this.#shown);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /** The bytes of a blob. A transfer that breaks is resumed where it was. */
  async *#blob({ digest, size }: Descriptor, signal: AbortSignal): AsyncIterable<Buffer> {
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
        await sleep(this.#timeouts.pause * tried, undefined, { signal });
      }
    }
  }

  /** A part of a blob from a place on. A registry that does not know ranges sends it from the beginning. */
  async *#from(url: URL, start: number, signal: AbortSignal): AsyncIterable<Buffer> {
    const response = await this.#get(url, start === 0 ? {} : { range: `bytes=${start}-` }, signal);
    const { statusCode, headers, body } = response;
    if (statusCode === 206 && !String(headers['content-range']).startsWith(`bytes ${start}-`)) {
      discard(response);
      throw new Fault('garbled', `${url.host} answers with another part than muster asked for.`);
    }
    let unwanted = statusCode === 206 ? 0 : start;
    const { window, leastBytes } = this.#timeouts;
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

  async #manifest(signal: AbortSignal): Promise<{ readonly bytes: Buffer; readonly descriptor: Descriptor }> {
    const { selector, digest: wanted } = this.#reference;
    const { bytes, headers } = await this.#whole(`manifests/${selector}`, signal);
    const digest = digestOf(bytes);
    const expected = wanted ?? headers['docker-content-digest'];
    if (expected !== undefined && expected !== digest)
      throw new Fault(
        'garbled',
        `The manifest of ${this.#shown} is not what its digest ${shownText(String(expected))} says.`,
      );
    const said = (jsonOf(bytes, `The manifest of ${this.#shown}`) as { mediaType?: unknown } | null)?.mediaType;
    const [type = ''] = String(headers['content-type'] ?? '').split(';');
    const mediaType = typeof said === 'string' ? said : type.trim();
    return { bytes, descriptor: { mediaType, digest, size: bytes.length } };
  }

  /** A manifest or a configuration by its digest. */
  async #document(descriptor: Descriptor, signal: AbortSignal): Promise<Buffer> {
    const { mediaType, digest } = descriptor;
    const place = manifestTypes.has(mediaType) || indexTypes.has(mediaType) ? 'manifests' : 'blobs';
    const { bytes } = await this.#whole(`${place}/${digest}`, signal);
    checkDocument(bytes, descriptor, this.#shown);
    return bytes;
  }

  #whole(
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Buffer; readonly headers: Response['headers'] }> {
    const url = new URL(path, this.#base);
    return within(this.#timeouts.document, signal, url, async (soon) => {
      const response = await this.#get(url, { accept: acceptedTypes }, soon);
      const bytes = await wholeBody(response, mostDocumentBytes, `What describes ${this.#shown}`);
      return { bytes, headers: response.headers };
    });
  }

  /** Asks with what authorization there is, and once more if it is not enough. */
  async #get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const ask = (): Promise<Answer> =>
      this.#http.get({ url, headers, authorization: this.#authorizer.authorization, signal });
    let answer = await ask();
    // Only the registry itself says where a login is to be sent, not whoever it redirects to.
    if (answer.response.statusCode === 401 && answer.isOwn) {
      discard(answer.response);
      await this.#authorizer.authorize(answer.response.headers['www-authenticate'], signal);
      answer = await ask();
    }
    const { response } = answer;
    if (response.statusCode === 200 || response.statusCode === 206) return response;
    throw await refusal(response, this.#reference.registry, this.#shown, this.#authorizer.hasLogin);
  }
}

/** Ports are part of what is compared. */
const withPort = (registry: string, port: number): string =>
  /:[0-9]+$/.test(registry) ? registry : `${registry}:${port}`;
