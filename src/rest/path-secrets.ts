import { Fault } from '../core/errors.ts';
import { hidden, isSecretName, secretIn, withoutSecrets } from '../objects/secret-names.ts';
import type { Endpoint } from './endpoint.ts';

/** Refuses a path that gives a secret away: paths are kept in logs and histories, and commands repeat what they cannot use. */
export function refuseSecrets({ secretsInPath }: Endpoint, params: Readonly<Record<string, string>>): void {
  if (secretsInPath) return;
  for (const name in params) {
    const found = secretIn(params[name]!);
    if (found) throw new Fault('invalid', sentence(found.name.slice(-64)));
  }
}

const sentence = (name: string): string =>
  `The path gives a value for ${name}, which is secret: it can neither select objects nor stand in a path; give it in the body of a PUT or POST.`;

const longest = 200;

/** The path of an address for sentences, up to a secret that may stand in it, as `password=...` or as the segment behind one. */
export function shownPath(url: string): string {
  const path = url.split('?', 1)[0]!;
  const plain = path.replaceAll(/%([2-7][\da-f])/gi, (_, code: string) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  );
  const shown = withoutSegments(withoutSecrets(plain));
  return (shown === plain ? path : shown).slice(0, longest);
}

function withoutSegments(path: string): string {
  const segments = path.split('/');
  // Tables are named there, of which some hold secrets.
  const names = segments.findIndex((segment, i) => segments[i - 1] !== 'tables' && isSecretName(segment));
  if (names < 0 || segments.slice(names + 1).join('') === '') return path;
  return [...segments.slice(0, names + 1), hidden].join('/');
}
