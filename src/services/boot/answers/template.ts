import { Fault } from '../../../core/errors.ts';

/** `#NAME#` or `#NAME:argument#` in a template. */
export interface Placeholder {
  readonly name: string;
  readonly argument: string | undefined;
  /** As it stands there, and where. */
  readonly text: string;
  readonly where: string;
}

const placeholder = /#([A-Z][A-Z0-9_]*)(?::([^#\n]*))?#/g;
const variable = /#ENV:([^#\n]*)#/g;

/** The text as what stands there and what is to be put there. */
export function parseTemplate(
  text: string,
  path: string,
  environment: Readonly<Record<string, string>>,
): (string | Placeholder)[] {
  // They come first: they stand in the arguments of others.
  const plain = text.replaceAll(variable, (_, name: string) => environmentValue(name.trim(), path, environment));
  const parts: (string | Placeholder)[] = [];
  let at = 0;
  let line = 1;
  for (const found of plain.matchAll(placeholder)) {
    const before = plain.slice(at, found.index);
    line += before.split('\n').length - 1;
    if (before !== '') parts.push(before);
    parts.push({ name: found[1]!, argument: found[2]?.trim(), text: found[0], where: `${path}, line ${line}` });
    at = found.index + found[0].length;
  }
  if (at < plain.length) parts.push(plain.slice(at));
  return parts;
}

/** Only what is the same for everybody; the environment of this process is nobody's business. */
function environmentValue(name: string, path: string, environment: Readonly<Record<string, string>>): string {
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (value !== undefined) return value;
  throw new Fault('invalid', `${path}: #ENV:${name}# is not known; there are ${Object.keys(environment).join(', ')}.`);
}

const regions = [
  /#XCAT_PARTITION_START#(.*?)#XCAT_PARTITION_END#/gs,
  /<!--\s*XCAT-PARTITION-START\s*-->(.*?)<!--\s*XCAT-PARTITION-END\s*-->/gs,
];

/** The part of a template that gives way to the image's partition file; without one it stays. */
export const withPartitions = (template: string, hasFile: boolean): string =>
  regions.reduce(
    (text, region) => text.replaceAll(region, (_, own: string) => (hasFile ? '#PARTITIONS#' : own)),
    template,
  );
