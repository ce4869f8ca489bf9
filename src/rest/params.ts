import { Fault } from '../core/errors.ts';
import type { Input } from './endpoint.ts';
import { valueText } from './definition-body.ts';

/** A text, or an option that is there or not; any other word is the name that it stands for. */
type Kinds = Readonly<Record<string, string>>;
type Read<K extends Kinds> = {
  -readonly [P in keyof K as K[P] extends 'text' | 'flag' ? P : never]?: K[P] extends 'flag' ? true : string;
};

/** The options in `params`, an array of attribute:value objects; an option that is not known is an error at either root. */
export function paramsOf<const K extends Kinds>({ body }: Pick<Input, 'body'>, kinds: K): Read<K> {
  const found: Record<string, string | true> = {};
  for (const each of (body['params'] ?? []) as readonly Readonly<Record<string, unknown>>[])
    for (const [given, value] of Object.entries(each)) {
      const kind = Object.hasOwn(kinds, given) ? kinds[given]! : undefined;
      const name = kind === 'text' || kind === 'flag' ? given : kind;
      if (name === undefined) {
        const known = Object.keys(kinds).filter((key) => kinds[key] === 'text' || kinds[key] === 'flag');
        throw new Fault(
          'malformed',
          `There is no option ${JSON.stringify(given)} in params; known are ${known.join(', ')}.`,
        );
      }
      const text = valueText(given, value);
      if (kinds[name] !== 'flag') found[name] = text;
      else if (!/^(0|no|false)$/.test(text)) found[name] = true;
    }
  return found as Read<K>;
}
