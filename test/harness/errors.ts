import type { Reply } from './client.ts';

/** Status and code of an error reply; throws if it has not the form that every error has. */
export function errorOf(reply: Reply): [status: number, errorcode: number] {
  const { error, errorcode, ...more } = reply.json as Record<string, unknown>;
  const sentences = Array.isArray(error) && error.length > 0 && error.every((each) => /\S{3}/.test(String(each)));
  const typed = reply.headers['content-type'] === 'application/json; charset=utf-8';
  if (!sentences || typeof errorcode !== 'number' || Object.keys(more).length > 0 || !typed)
    throw new Error(`Not an error reply: ${reply.status} ${reply.text}`);
  return [reply.status, errorcode];
}
