/**
 * What a value that was read has to look like. For the processes that do one thing and end: loading a library of schemas takes them
 * longer than many a thing they do.
 */
export type Shape<T> = (value: unknown) => value is T;
export type Shaped<S> = S extends Shape<infer T> ? T : never;

type Members = Readonly<Record<string, Shape<unknown>>>;
type Flat<T> = { [K in keyof T]: T[K] };
type ShapedMembers<M extends Members> = { [K in keyof M]: Shaped<M[K]> };

export const anything: Shape<unknown> = (value): value is unknown => value !== undefined;
export const text: Shape<string> = (value) => typeof value === 'string';
export const integer: Shape<number> = (value): value is number => Number.isInteger(value);

export const textLike =
  (pattern: RegExp): Shape<string> =>
  (value): value is string =>
    typeof value === 'string' && pattern.test(value);

export const oneOf =
  <const T>(...values: readonly T[]): Shape<T> =>
  (value): value is T =>
    (values as readonly unknown[]).includes(value);

export const listOf =
  <T>(shape: Shape<T>): Shape<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.every(shape);

/** An object with these members; it may have others. */
export const objectOf =
  <M extends Members>(members: M): Shape<ShapedMembers<M>> =>
  (value): value is ShapedMembers<M> => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return Object.entries(members).every(([name, shape]) => shape(ownMember(value, name)));
  };

/** The same with members that may be missing. */
export const objectWith = <M extends Members, O extends Members>(
  members: M,
  optional: O,
): Shape<Flat<ShapedMembers<M> & Partial<ShapedMembers<O>>>> => {
  const hasMembers = objectOf(members);
  return (value): value is Flat<ShapedMembers<M> & Partial<ShapedMembers<O>>> =>
    hasMembers(value) &&
    Object.entries(optional).every(([name, shape]) => !Object.hasOwn(value, name) || shape(ownMember(value, name)));
};

const ownMember = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
