import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './nats.ts';

export interface Visit {
  readonly status: number;
  readonly url: string;
  readonly text: string;
}

/** A provider of OpenID Connect on loopback, in a process of its own. */
export class LabProvider {
  readonly issuer: string;
  readonly ca: string;
  readonly #directory: string;
  readonly #redirect: string;
  #child: ChildProcess | undefined;
  #lines: AsyncIterator<string> | undefined;

  private constructor(port: number, directory: string, redirect: string) {
    this.issuer = `https://127.0.0.1:${port}`;
    this.ca = join(directory, 'cert.pem');
    this.#directory = directory;
    this.#redirect = redirect;
  }

  /** `redirect`: where it sends browsers back to. */
  static async start(directory: string, redirect: string): Promise<LabProvider> {
    const key = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      join(directory, 'key.pem'),
    ];
    const made = [
      '-out',
      join(directory, 'cert.pem'),
      '-days',
      '2',
      '-subj',
      '/CN=lab',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
    ];
    execFileSync('openssl', ['req', '-x509', ...key, ...made], { stdio: 'ignore' });
    const provider = new LabProvider(await freePort('127.0.0.1'), directory, redirect);
    await provider.begin();
    return provider;
  }

  async begin(): Promise<void> {
    const words = [
      join(import.meta.dirname, 'oidc/provider.mjs'),
      new URL(this.issuer).port,
      this.#directory,
      this.#redirect,
    ];
    this.#child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    while ((await this.#line()) !== 'ready');
  }

  /** It goes away. */
  async end(): Promise<void> {
    const child = this.#child!;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.stdin!.end();
    await gone;
  }

  person(sub: string, claims: object, disabled = false): Promise<void> {
    return this.#order({ order: 'person', sub, claims, disabled });
  }

  /** What is wrong with its ID tokens from now on; empty: nothing. */
  fault(fault: string): Promise<void> {
    return this.#order({ order: 'fault', fault });
  }

  /** It signs with a new key, and knows the old one no longer. */
  rotate(): Promise<void> {
    return this.#order({ order: 'rotate' });
  }

  async #order(order: object): Promise<void> {
    this.#child!.stdin!.write(`${JSON.stringify(order)}\n`);
    while ((await this.#line()) !== 'done');
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines!.next();
    if (done) throw new Error('The provider has ended.');
    return value;
  }
}

/** Enough of a browser: cookies of each server, redirects, forms. It says at the provider who the person is. */
export class Browser {
  readonly #cas: readonly string[];
  readonly #person: string;
  readonly cookies = new Map<string, Map<string, string>>();

  constructor(person: string, cas: readonly string[]) {
    this.#person = person;
    this.#cas = cas;
  }

  /** Goes there and wherever that leads, up to what `until` matches, which is not asked for. */
  async open(address: string, form?: Readonly<Record<string, string>>, until?: RegExp): Promise<Visit> {
    let visit = await this.visit(address, form);
    for (let hops = 0; hops < 20 && visit.location !== undefined; hops++) {
      const next = new URL(visit.location, visit.url).href;
      if (until?.test(next)) return { ...visit, url: next };
      visit = await this.visit(next);
    }
    return visit;
  }

  visit(
    address: string,
    form?: Readonly<Record<string, string>>,
  ): Promise<Visit & { readonly location: string | undefined }> {
    const url = new URL(address);
    const jar = this.cookies.get(url.host) ?? new Map<string, string>();
    this.cookies.set(url.host, jar);
    const body = form === undefined ? undefined : new URLSearchParams(form).toString();
    const headers = {
      cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
      'x-person': this.#person,
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }),
    };
    return new Promise((resolve, reject) => {
      const ca = this.#cas.map((file) => readFileSync(file, 'utf8'));
      const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers, ca, agent: false }, (reply) => {
        for (const line of reply.headers['set-cookie'] ?? []) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
          if (value === '' || /max-age=0/i.test(line)) jar.delete(name);
          else jar.set(name, value);
        }
        let text = '';
        reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        reply.once('end', () =>
          resolve({ status: reply.statusCode!, url: url.href, text, location: reply.headers.location }),
        );
      });
      sent.once('error', reject);
      sent.end(body);
    });
  }

  /** Does what a person does who has a code and its address. */
  async confirmDevice(address: string): Promise<Visit> {
    const hidden = (text: string): Record<string, string> =>
      Object.fromEntries(
        text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g).map(([, name, value]) => [name!, value!]),
      );
    const first = await this.open(address);
    const { origin } = new URL(address);
    const second = await this.open(`${origin}/device`, hidden(first.text));
    return this.open(`${origin}/device`, { ...hidden(second.text), confirm: 'yes' });
  }
}
