import type { TSchema } from 'typebox';

export interface Member {
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
