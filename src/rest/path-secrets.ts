import { Fault } from '../core/errors.ts';
import { secretIn } from '../objects/secret-names.ts';
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
