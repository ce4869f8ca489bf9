import { createHash } from 'node:crypto';
import { Fault } from '../../core/errors.ts';

const shape = /^sha256:[0-9a-f]{64}$/;

/** A digest becomes a file name and a part of URLs: nothing else may pass. */
export const isDigest = (text: string): boolean => shape.test(text);

export const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export const hexOf = (digest: string): string => digest.slice('sha256:'.length);

/** The one that is meant of several, each with its names; or a Fault that lists them. */
export function documentNamed<T>(
  found: readonly (readonly [T, readonly string[]])[],
  name: string | undefined,
  where: string,
): T {
  const fitting = name === undefined ? found : found.filter(([, names]) => names.includes(name));
  if (fitting.length === 1) return fitting[0]![0];
  const names = [...new Set(found.flatMap(([, each]) => each))]
    .slice(0, 20)
    .map((each) => JSON.stringify(each.slice(0, 200)));
  const list = names.length > 0 ? `It has ${names.join(', ')}.` : 'Its images have no names.';
  if (name !== undefined && fitting.length === 0)
    throw new Fault('invalid', `${where} has no image ${JSON.stringify(name)}. ${list}`);
  if (found.length === 0) throw new Fault('invalid', `${where} has no image.`);
  throw new Fault('invalid', `${where} has ${fitting.length} images: choose one with the parameter image. ${list}`);
}

/** Where an image is: registry/name:tag, or @digest. */
export interface Reference {
  /** host or host:port. */
  readonly registry: string;
  readonly name: string;
  /** What the manifest is asked for by: the digest if there is one, else the tag. */
  readonly selector: string;
  readonly digest: string | undefined;
}

const longest = 1_024;
const hostShape =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;
const nameShape = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagShape = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/** The registry has to be named: a default one would make a typing error load a stranger's image. */
export function parseReference(text: string): Reference {
  const wrong = (problem: string): Fault =>
    new Fault(
      'invalid',
      `${JSON.stringify(text.slice(0, 200))} is not the name of a container image: ${problem}. Write REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST.`,
    );
  if (text.length > longest) throw wrong(`it is longer than ${longest} characters`);
  const slash = text.indexOf('/');
  const registry = text.slice(0, Math.max(slash, 0));
  // As everywhere, a first word is a registry only if it looks like a host, or "library/debian" would be one.
  if (!isRegistry(registry) || !(registry === 'localhost' || /[.:]/.test(registry)))
    throw wrong('it does not begin with the name of a registry, such as registry.example:5000');
  const [named = '', digest, ...more] = text.slice(slash + 1).split('@');
  if (more.length > 0 || (digest !== undefined && !isDigest(digest)))
    throw wrong('its digest is not sha256: and 64 digits');
  const colon = named.indexOf(':');
  const name = colon === -1 ? named : named.slice(0, colon);
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  if (!nameShape.test(name) || name.length > 255)
    throw wrong(`${JSON.stringify(name.slice(0, 200))} is not the name of a repository`);
  if (tag !== undefined && !tagShape.test(tag)) throw wrong(`${JSON.stringify(tag.slice(0, 200))} is not a tag`);
  return { registry: registry.toLowerCase(), name, selector: digest ?? tag ?? 'latest', digest };
}

/** host or host:port. */
export function isRegistry(text: string): boolean {
  if (text.length > 300 || !hostShape.test(text)) return false;
  const port = /[^:\]]:([0-9]+)$|\]:([0-9]+)$/.exec(text);
  return !port || (Number(port[1] ?? port[2]) > 0 && Number(port[1] ?? port[2]) < 65_536);
}
