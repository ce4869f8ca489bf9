import { requests } from '../texts/common.ts';
import type { Session } from './types.ts';

export const root = '/muster';

/** An answer of the server that is no success, in its own sentences. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, sentences: readonly string[]) {
    super(sentences.join(' '));
    this.status = status;
  }
}

/** Shows that requests of this page are its own. */
let csrf = '';
let onSignedOut: () => void = () => {};

export const whenSignedOut = (callback: () => void): void => {
  onSignedOut = callback;
};

interface Options {
  /** JSON, or a tar archive of files. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

async function send(method: string, path: string, { body, headers, signal }: Options = {}): Promise<Response> {
  let response: Response;
  const isArchive = body instanceof Blob;
  try {
    response = await fetch(root + path, {
      method,
      headers: {
        ...(method === 'GET' ? {} : { 'X-CSRF-Token': csrf }),
        ...(body === undefined ? {} : { 'Content-Type': isArchive ? 'application/x-tar' : 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isArchive ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Refusal(0, [isArchive ? requests.filesNotSent : requests.noAnswer]);
  }
  if (response.ok) return response;
  const refusal = new Refusal(response.status, await sentencesOf(response));
  if (response.status === 401 && path !== '/session') onSignedOut();
  throw refusal;
}

async function sentencesOf(response: Response): Promise<readonly string[]> {
  try {
    const { error } = (await response.json()) as { readonly error: string | readonly string[] };
    return [error].flat();
  } catch {
    return [requests.status(response.status)];
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send('GET', path, signal ? { signal } : {});
  return (await response.json()) as T;
}

/** The number of a change of the database. */
const revisionOf = (response: Response): number => Number(response.headers.get('X-Muster-Revision') ?? 0);

/** What was read, and which changes it includes. */
export async function getAt<T>(path: string, signal?: AbortSignal): Promise<{ value: T; revision: number }> {
  const response = await send('GET', path, signal ? { signal } : {});
  return { value: (await response.json()) as T, revision: revisionOf(response) };
}

type WriteMethod = 'PUT' | 'POST' | 'DELETE';

/** What a write answers, if it answers with anything. */
export async function write<T>(method: WriteMethod, path: string, options: Options = {}): Promise<T> {
  return (await writeAt<T>(method, path, options)).value;
}

/** The same, with the number of the change that it made. */
export async function writeAt<T>(
  method: WriteMethod,
  path: string,
  options: Options = {},
): Promise<{ value: T; revision: number }> {
  const response = await send(method, path, options);
  const text = await response.text();
  return { value: (text.trim() === '' ? undefined : JSON.parse(text)) as T, revision: revisionOf(response) };
}

export interface Work {
  readonly method: 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  /** JSON, or a tar archive of files. */
  readonly body?: object;
  /** How many nodes the range in the path must still select. */
  readonly count?: number;
}

/** Begins work that takes a while; answers the id of its run. */
export async function begin({ method, path, body, count }: Work, signal?: AbortSignal): Promise<string> {
  const headers = { Prefer: 'respond-async', ...expecting(count) };
  const response = await send(method, path, { body, headers, ...(signal && { signal }) });
  return response.headers.get('X-Muster-Run') ?? '';
}

export const expecting = (count: number | undefined): Readonly<Record<string, string>> =>
  count === undefined ? {} : { 'X-Expect-Nodes': String(count) };

/** One line after the other of a reply that comes node by node. */
export async function* lines<T>(path: string, signal: AbortSignal): AsyncGenerator<readonly T[]> {
  const response = await send('GET', path, { headers: { Accept: 'application/x-ndjson' }, signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n');
    rest = parts.pop() ?? '';
    yield parts.filter((part) => part !== '').map((part) => JSON.parse(part) as T);
  }
}

export const inPath = (text: string): string => encodeURIComponent(text);

/** Undefined: nobody is signed in. */
export async function currentSession(): Promise<Session | undefined> {
  try {
    return known(await get<Session>('/session'));
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return undefined;
    throw error;
  }
}

export async function signIn(userName: string, userPW: string): Promise<Session> {
  return known(await write<Session>('POST', '/session', { body: { userName, userPW } }));
}

export const signOut = (): Promise<void> => write('DELETE', '/session');

function known(session: Session): Session {
  csrf = session.csrf ?? '';
  return session;
}
