import type { Access } from './capabilities.ts';

/** What a node lacks to log in at its service processor, as one sentence; `key` is that of the kind in table passwd. */
export function missingAccount(
  { username, password }: Pick<Access, 'username' | 'password'>,
  key: string,
): string | undefined {
  const missing = [username === '' ? 'user name' : '', password === '' ? 'password' : ''].filter(Boolean);
  if (missing.length === 0) return undefined;
  return `it has no ${missing.join(' and no ')} for its service processor: set bmcusername and bmcpassword, or a row of the table passwd with the key ${key}.`;
}
