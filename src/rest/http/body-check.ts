import { Compile, type Validator } from 'typebox/compile';
import type { TSchema } from 'typebox';
import { cachedBy } from '../../core/cache.ts';
import { Fault } from '../../core/errors.ts';
import { suggestion } from '../../core/nearest.ts';
import { type Endpoint, type MemberLack, members } from '../endpoints/endpoint.ts';
import type { Root } from '../endpoints/roots.ts';

/** Of rows that declare none. */
const noBody = members({});

const validatorOf = cachedBy((schema: TSchema): Validator => Compile(schema));

interface ObjectSchema {
  properties?: Record<string, { readonly 'x-lack'?: MemberLack }>;
  required?: string[];
  additionalProperties?: unknown;
}

/** The body as the row's schema wants it; a root that is not strict drops unknown members instead of refusing them. */
export function checkBody(endpoint: Endpoint, root: Root, body: Record<string, unknown>): Record<string, unknown> {
  if (!endpoint.body && Object.keys(body).length === 0) return body;
  const schema = endpoint.body ?? noBody;
  const { properties = {}, required = [], additionalProperties } = schema as ObjectSchema;
  let checked = body;
  if (additionalProperties === false) {
    const unknown = Object.keys(body).filter((name) => !Object.hasOwn(properties, name));
    if (unknown.length > 0 && root.strict) {
      const hint = endpoint.body ? `known are ${Object.keys(properties).join(', ')}` : 'there are none here';
      throw new Fault(
        'unknown-member',
        `The body has the unknown member "${unknown[0]}"; ${hint}.${suggestion(unknown[0]!, Object.keys(properties))}`,
      );
    }
    checked = Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(properties, name)));
  }
  for (const name of required) {
    if (checked[name] === undefined)
      throw new Fault(properties[name]?.['x-lack'] ?? 'missing-member', `The body lacks the member "${name}".`);
  }
  const validator = validatorOf(schema);
  if (!validator.Check(checked)) {
    throw new Fault('malformed', `The body is not as it should be: ${problemOf(schema, validator.Errors(checked))}.`);
  }
  return checked;
}

interface Problem {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message: string;
  readonly params: object;
}

/** Of alternatives the one that fits best is meant, which goes wrong deepest inside; where several do, any of them would do. */
function problemOf(schema: TSchema, problems: readonly Problem[]): string {
  const concrete = problems.filter(({ keyword }) => keyword !== 'anyOf');
  const depth = ({ instancePath }: Problem): number => instancePath.split('/').length;
  const deepest = concrete.reduce<Problem | undefined>(
    (best, one) => (best && depth(best) >= depth(one) ? best : one),
    undefined,
  );
  if (!deepest) return 'it is wrong';
  const messages = concrete
    .filter(({ instancePath }) => instancePath === deepest.instancePath)
    .map((problem) => messageOf(schema, problem));
  return `${deepest.instancePath.slice(1) || 'it'} ${[...new Set(messages)].join(' or ')}`;
}

function messageOf(schema: TSchema, { instancePath, keyword, message, params }: Problem): string {
  // The schema of members that are not declared allows nothing.
  if (keyword === 'boolean') {
    const known = membersAround(schema, instancePath);
    return `is not a known member${known.length === 0 ? '' : `; known there are ${known.join(', ')}`}`;
  }
  return 'allowedValues' in params && Array.isArray(params.allowedValues)
    ? `must be one of ${params.allowedValues.map((value) => JSON.stringify(value)).join(', ')}`
    : message;
}

/** The members that can stand beside the one at a path; none where alternatives differ. */
function membersAround(schema: TSchema, path: string): string[] {
  let around: Nested | undefined = schema;
  for (const name of path.split('/').slice(1, -1)) around = around?.items ?? around?.properties?.[name];
  return Object.keys(around?.properties ?? {});
}

interface Nested {
  readonly items?: Nested;
  readonly properties?: Readonly<Record<string, Nested>>;
}
