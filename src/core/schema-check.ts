import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

/** Checks values that were read, such as files and documents of others, against a schema. */
export interface SchemaCheck<T> {
  is(value: unknown): value is T;
  /** The members and items that lead to what is wrong, such as `layers.0.size`; empty: it is the value itself. */
  wrongAt(value: unknown): string;
}

/** Compiled when it is first used: compiling takes longer than many a process that has the schema is there. */
export function schemaCheck<S extends TSchema>(schema: S): SchemaCheck<Static<S>> {
  let compiled: Validator | undefined;
  const validator = (): Validator => (compiled ??= Compile(schema));
  return {
    is: (value): value is Static<S> => validator().Check(value),
    wrongAt(value) {
      const [first] = validator().Errors(value);
      if (!first) return '';
      const missing = first.keyword === 'required' ? first.params.requiredProperties.slice(0, 1) : [];
      const path = first.instancePath.split('/').slice(1).map(unescaped);
      return [...path, ...missing].join('.');
    },
  };
}

/** As JSON pointers (RFC 6901) write names. */
const unescaped = (piece: string): string => piece.replaceAll('~1', '/').replaceAll('~0', '~');
