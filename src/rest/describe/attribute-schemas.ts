import { attributeList } from '../../objects/attribute-list.ts';
import { listSeparator } from '../definition-body.ts';
import type { Endpoint } from '../endpoint.ts';

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
