import type { TSchema } from 'typebox';
import { attributeList } from '../../objects/attribute-list.ts';
import { listSeparator } from '../endpoints/definition-body.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';

const capital = (word: string): string => word[0]!.toUpperCase() + word.slice(1);

/** The names of the schemas of a type: objects with their attributes as they are read, and what may be written of one. */
export const attributesKey = (type: string): string => `${capital(type)}Attributes`;
export const definitionKey = (type: string): string => `${capital(type)}Definition`;

const text = { type: ['string', 'number', 'boolean', 'null'] };
const list = { anyOf: [text, { type: 'array', items: { type: 'string' } }] };
const options = {
  type: 'object',
  description: 'flags such as -p, -m, -f, --template',
  additionalProperties: { type: 'string' },
};

/** The attributes of every type of objects that rows define. Parts such as nicips.eth1 have names of their own. */
export function attributeSchemas(rows: readonly Endpoint[]): Record<string, object> {
  const types = new Set(rows.flatMap(({ defines }) => defines ?? []));
  return Object.fromEntries(
    [...types].flatMap((type) => {
      const entries = Object.entries(attributeList(type));
      const described = (schemaOf: (name: string) => object): object =>
        Object.fromEntries(
          entries.map(([name, { meaning, type: form }]) => [
            name,
            { ...schemaOf(name), description: form === 'text' ? meaning : `${meaning} (${form})` },
          ]),
        );
      const shown = {
        type: 'object',
        description: `Attributes of a ${type} that are set.`,
        properties: described(() => ({ type: 'string' })),
        additionalProperties: { type: 'string' },
      };
      const given = {
        type: 'object',
        description: `Attributes of a ${type}; an empty value clears.`,
        properties: {
          ...described((name) => (listSeparator(name) === undefined ? text : list)),
          options,
        },
        // Generated types hold every member to this, the named ones too.
        additionalProperties: { anyOf: [...list.anyOf, options] },
      };
      return [
        [attributesKey(type), { type: 'object', additionalProperties: shown }],
        [definitionKey(type), given],
      ];
    }),
  );
}

interface Member {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
}

/** The members a body may have, those of inner objects by their path. Open objects also take others: see `isOpen`. */
export const membersOf = (schema: TSchema): Member[] => walk(schema, []);

/** The body takes members that the schema does not name, such as attributes. */
export const isOpen = (schema: TSchema): boolean => {
  const { additionalProperties = false } = schema as Schema;
  return additionalProperties !== false;
};

export const describedAs = (schema: TSchema): string => (schema as Schema).description ?? '';

function walk({ properties = {}, required = [] }: Schema, outer: readonly string[]): Member[] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = [...outer, name];
    const { description = '' } = member;
    return [
      { name: path.join(' › '), type: typeText(member), required: required.includes(name), description },
      ...walk(member, path),
    ];
  });
}

function typeText(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' or ');
  if (schema.items) return `array of ${typeText(schema.items)}`;
  return typeof schema.type === 'string' ? schema.type : (schema.type?.join(' or ') ?? 'any');
}
