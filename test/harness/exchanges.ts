import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Client, Reply } from './client.ts';
import { rootPassword } from './server.ts';

/** A request to the reference system and what it answered, as kept in test/data/exchanges. */
export interface Exchange {
  readonly id: string;
  readonly note: string;
  /** Method and path below the root, percent-encoded as on the wire. */
  readonly request: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Who asks; root with its password in the query unless one of these says otherwise. */
  readonly as?: 'nobody';
  readonly account?: readonly [name: string, password: string];
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
  /** The JSON of a successful reply; absent if its body is empty. */
  readonly reply?: unknown;
  /** `shape`: every member must be there and of the same kind; other texts and more members are fine. */
  readonly compare?: 'status' | 'shape';
  /** Arrays, `members` and joined names count as sets. */
  readonly unordered?: boolean;
  readonly ignore?: readonly string[];
  readonly pretty?: boolean;
  /** Values to keep for later exchanges, by dotted path. */
  readonly capture?: Readonly<Record<string, string>>;
}

export type Variables = Record<string, string>;

export const fillIn = (text: string, variables: Variables): string =>
  text.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => variables[name] ?? whole);

/** Sends the exchange as its client did. */
export function send(client: Client, exchange: Exchange, variables: Variables): Promise<Reply> {
  const { request, query = {}, body, account = ['root', rootPassword], token, as, headers } = exchange;
  const [method, path] = request.split(' ', 2) as [string, string];
  const credentials = as === 'nobody' || token ? {} : { userName: account[0], userPW: account[1] };
  const parameters = { ...credentials, ...query };
  return client.call(method, fillIn(path, variables), {
    root: '/xcatws',
    token: token ? fillIn(token, variables) : null,
    ...(Object.keys(parameters).length > 0 ? { query: parameters } : {}),
    ...(body === undefined ? {} : { body: fillIn(body, variables) }),
    ...(headers ? { headers } : {}),
  });
}

/** The recorded data of that name. */
export const readExchanges = <T = Exchange[]>(name: string): T =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../data/exchanges/${name}.json`), 'utf8')) as T;

/** Keeps what the exchange captures of the reply. */
export function capture({ capture: wanted = {} }: Exchange, reply: Reply, variables: Variables): void {
  for (const [name, path] of Object.entries(wanted)) {
    const value = path.split('.').reduce((part: unknown, key) => (part as Record<string, unknown>)[key], reply.json);
    variables[name] = String(value);
  }
}

/** What is wrong with the reply; undefined if it is as recorded, by the rules that the two systems' answers are compared with. */
export function mismatch(exchange: Exchange, reply: Reply): string | undefined {
  if (reply.status !== exchange.status) return `status ${reply.status}: ${reply.text}`;
  if (exchange.compare === 'status') return undefined;
  if (exchange.status >= 400) return wrongError(reply);
  const body = reply.text.trim();
  if (exchange.reply === undefined) {
    const emptyForms = exchange.request.startsWith('GET ') ? ['', '[]', '{}'] : [''];
    return emptyForms.includes(body) ? undefined : `the body should be empty: ${body}`;
  }
  if (exchange.compare === 'shape')
    return hasShape(exchange.reply, reply.json) ? undefined : `body has another shape: ${body}`;
  if (exchange.pretty && !body.includes('\n')) return 'the body should have several lines';
  const expected = normalised(exchange, exchange.reply);
  const got = normalised(exchange, withPlaceholders(exchange.reply, reply.json));
  return isDeepStrictEqual(got, expected) ? undefined : `body differs: ${body}`;
}

function hasShape(expected: unknown, value: unknown): boolean {
  if (Array.isArray(expected)) {
    if (!Array.isArray(value)) return false;
    return expected.length === 0 || (value.length > 0 && value.every((item) => hasShape(expected[0], item)));
  }
  if (!isObject(expected)) return typeof value === typeof expected;
  return isObject(value) && Object.entries(expected).every(([name, item]) => hasShape(item, value[name]));
}

/** Error texts are free; their form is not. */
function wrongError({ status, json }: Reply): string | undefined {
  const { error, errorcode, ...more } = json;
  if (Object.keys(more).length > 0) return `members besides error and errorcode: ${Object.keys(more).join(', ')}`;
  if (!Number.isInteger(errorcode)) return 'errorcode is not a whole number';
  const texts = Array.isArray(error) && error.length > 0 && error.every((text) => typeof text === 'string' && text);
  if (!texts) return 'error is not an array of sentences';
  return status === 401 && !error.includes('Authentication failure') ? 'a 401 without its sentence' : undefined;
}

const forms: readonly [placeholder: string, form: RegExp][] = [
  ['${UUID}', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i],
  ['${DATETIME}', /^\d{4}(-\d{1,2}){2} \d{1,2}(:\d{1,2}){2}$/],
];

/** The value with a placeholder in place of every text that has the form the expected one stands for. */
function withPlaceholders(expected: unknown, value: unknown): unknown {
  const form = forms.find(([placeholder]) => placeholder === expected)?.[1];
  if (form) return typeof value === 'string' && form.test(value) ? expected : value;
  if (!isObject(expected) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withPlaceholders(expected[key], item)]));
}

/** Takes out what does not count: ignored members and, if told so, order. */
function normalised({ ignore = [], unordered }: Exchange, value: unknown, key = ''): unknown {
  const each = (item: unknown, name?: string) => normalised({ ignore, unordered } as Exchange, item, name);
  if (Array.isArray(value)) {
    const items = value.map((item) => each(item));
    return unordered ? items.sort((a, b) => (sortText(a) < sortText(b) ? -1 : 1)) : items;
  }
  if (isObject(value)) {
    const entries = Object.entries(value).filter(([name]) => !ignore.includes(name));
    return Object.fromEntries(entries.map(([name, item]) => [unordered ? sortedNames(name) : name, each(item, name)]));
  }
  return unordered && key === 'members' && typeof value === 'string' ? sortedNames(value) : value;
}

const sortedNames = (list: string): string => list.split(',').sort().join(',');

/** Equal objects give equal texts, whatever the order of their members. */
const sortText = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) => (isObject(item) ? byName(item) : item));

const byName = (item: object) => Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1));

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
