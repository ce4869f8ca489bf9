import { Compile, type Validator } from 'typebox/compile';
import type { TSchema } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { Endpoint } from './endpoint.ts';
import type { Root } from './roots.ts';

const validators = new WeakMap<TSchema, Validator>();

interface ObjectSchema {
  properties?: Record<string, unknown>;
  required?: string[];
  additionalProperties?: unknown;
}

/** The body as the row's schema wants it; a root that is not strict drops unknown members instead of refusing them. */
export function checkBody(endpoint: Endpoint, root: Root, body: Record<string, unknown>): Record<string, unknown> {
  const schema = endpoint.body!;
  const { properties = {}, required = [], additionalProperties } = schema as ObjectSchema;
  let checked = body;
  if (additionalProperties === false) {
    const unknown = Object.keys(body).filter((name) => !Object.hasOwn(properties, name));
    if (unknown.length > 0 && root.strict) {
      const known = Object.keys(properties).join(', ');
      throw new Fault('unknown-member', `The body has the unknown member "${unknown[0]!}"; known are ${known}.`);
    }
    checked = Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(properties, name)));
  }
  for (const name of required) {
    if (checked[name] === undefined) throw new Fault('missing-member', `The body lacks the member "${name}".`);
  }
  let validator = validators.get(schema);
  if (!validator) validators.set(schema, (validator = Compile(schema)));
  if (!validator.Check(checked)) {
    const [problem] = validator.Errors(checked);
    throw new Fault(
      'malformed',
      `The body is not as it should be: ${problem?.instancePath.slice(1) || 'it'} ${problem?.message ?? 'is wrong'}.`,
    );
  }
  return checked;
}
