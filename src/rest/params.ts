import { Fault } from '../core/errors.ts';
import type { Input } from './endpoint.ts';

/** A text, or a switch; any other word is the name that this one is another word for. */
type Kinds = Readonly<Record<string, string>>;
type Read<K extends Kinds> = {
  -readonly [P in keyof K as K[P] extends 'text' | 'flag' ? P : never]?: K[P] extends 'flag' ? true : string;
};

/** The options in `params`, an array of attribute:value objects; an option that is not known is an error at either root. */
export function paramsOf<const K extends Kinds>({ body }: Pick<Input, 'body'>, kinds: K): Read<K> {
  const found = new Map<string, string | boolean>();
  for (const [given, value] of ((body['params'] ?? []) as readonly object[]).flatMap((each) => Object.entries(each))) {
    const name = nameOf(given, kinds);
    if (found.has(name)) throw new Fault('malformed', `params give ${name} twice.`);
    found.set(name, kinds[name] === 'flag' ? isOn(given, value) : textOf(given, value));
  }
  return Object.fromEntries([...found].filter(([, value]) => value !== false)) as Read<K>;
}

const isName = (kinds: Kinds, name: string): boolean => kinds[name] === 'text' || kinds[name] === 'flag';

function nameOf(given: string, kinds: Kinds): string {
  if (Object.hasOwn(kinds, given)) return isName(kinds, given) ? given : kinds[given]!;
  const known = Object.keys(kinds)
    .filter((name) => isName(kinds, name))
    .map((name) => {
      const others = Object.keys(kinds).filter((each) => kinds[each] === name);
      return others.length === 0 ? name : `${name} (${others.join(', ')})`;
    });
  throw new Fault(
    'malformed',
    `There is no option ${JSON.stringify(given.slice(0, 100))} in params; known are ${known.join(', ')}.`,
  );
}

function textOf(given: string, value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string' && value !== '') return value;
  throw new Fault('malformed', `params: ${given} needs a value, a text.`);
}

/** A switch is on by being there. */
function isOn(given: string, value: unknown): boolean {
  if (['', null, true, 1, '1', 'yes', 'true'].some((each) => each === value)) return true;
  if ([false, 0, '0', 'no', 'false'].some((each) => each === value)) return false;
  throw new Fault('malformed', `params: ${given} is a switch; give "" or true.`);
}
