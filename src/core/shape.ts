/**
 * What a value that was read has to look like. For the processes that do one thing and end: loading a library of schemas takes them
 * longer than many a thing they do. Who wants to tell where the value is otherwise gives an empty list: it is filled with the members and
 * items that lead there.
 */
export type Shape<T> = (value: unknown, wrong?: string[]) => value is T;
export type Shaped<S> = S extends Shape<infer T> ? T : never;

type Members = Readonly<Record<string, Shape<unknown>>>;
type Flat<T> = { [K in keyof T]: T[K] };
type ShapedMembers<M extends Members> = { [K in keyof M]: Shaped<M[K]> };

export const anything: Shape<unknown> = (value): value is unknown => value !== undefined;
export const text: Shape<string> = (value) => typeof value === 'string';
export const integer: Shape<number> = (value): value is number => Number.isInteger(value);
export const count: Shape<number> = (value): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

export const textLike =
  (pattern: RegExp): Shape<string> =>
  (value): value is string =>
    typeof value === 'string' && pattern.test(value);

export const textUpTo =
  (longest: number): Shape<string> =>
  (value): value is string =>
    typeof value === 'string' && value.length <= longest;

export const oneOf =
  <const T>(...values: readonly T[]): Shape<T> =>
  (value): value is T =>
    (values as readonly unknown[]).includes(value);

export const nullOr =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value, wrong): value is T | null =>
    value === null || shape(value, wrong);

export const listOf =
  <T>(shape: Shape<T>, most = Infinity): Shape<T[]> =>
  (value, wrong): value is T[] =>
    Array.isArray(value) && value.length <= most && value.every((item, i) => fits(shape, item, i, wrong));

/** An object whose members all look like that, whatever they are called. */
export const recordOf =
  <T>(shape: Shape<T>): Shape<Record<string, T>> =>
  (value, wrong): value is Record<string, T> =>
    isObject(value) && Object.entries(value).every(([name, member]) => fits(shape, member, name, wrong));

/** An object with these members; it may have others. */
export const objectOf =
  <M extends Members>(members: M): Shape<ShapedMembers<M>> =>
  (value, wrong): value is ShapedMembers<M> =>
    isObject(value) &&
    Object.entries(members).every(([name, shape]) => fits(shape, ownMember(value, name), name, wrong));

/** The same with members that may be missing. */
export const objectWith = <M extends Members, O extends Members>(
  members: M,
  optional: O,
): Shape<Flat<ShapedMembers<M> & Partial<ShapedMembers<O>>>> => {
  const hasMembers = objectOf(members);
  return (value, wrong): value is Flat<ShapedMembers<M> & Partial<ShapedMembers<O>>> =>
    hasMembers(value, wrong) &&
    Object.entries(optional).every(
      ([name, shape]) => !Object.hasOwn(value, name) || fits(shape, ownMember(value, name), name, wrong),
    );
};

function fits(shape: Shape<unknown>, value: unknown, name: string | number, wrong: string[] | undefined): boolean {
  if (shape(value, wrong)) return true;
  wrong?.unshift(String(name));
  return false;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const ownMember = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
