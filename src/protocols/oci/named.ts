import { Fault } from '../../core/errors.ts';

/** The one that is meant of several, each with its names; or a Fault that lists them. */
export function named<T>(
  found: readonly (readonly [T, readonly string[]])[],
  name: string | undefined,
  where: string,
): T {
  const fitting = name === undefined ? found : found.filter(([, names]) => names.includes(name));
  if (fitting.length === 1) return fitting[0]![0];
  const names = [...new Set(found.flatMap(([, each]) => each))]
    .slice(0, 20)
    .map((each) => JSON.stringify(each.slice(0, 200)));
  const list = names.length > 0 ? `It has ${names.join(', ')}.` : 'Its images have no names.';
  if (name !== undefined && fitting.length === 0)
    throw new Fault('invalid', `${where} has no image ${JSON.stringify(name)}. ${list}`);
  if (found.length === 0) throw new Fault('invalid', `${where} has no image.`);
  throw new Fault('invalid', `${where} has ${fitting.length} images: say which by the parameter image. ${list}`);
}
