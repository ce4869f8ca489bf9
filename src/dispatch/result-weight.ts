/** What an object, an array or a text takes besides its content, and a member besides its value, in bytes; rough on purpose. */
const perObject = 48;
const perText = 16;
const perMember = 16;

/** How much memory a result takes, roughly, in bytes. Names of members are shared by the results of a run. */
export const weightOf = (result: object): number => weigh(result);

function weigh(value: unknown): number {
  if (typeof value === 'string') return perText + value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let weight = perObject;
  for (const member of Object.values(value)) weight += perMember + weigh(member);
  return weight;
}
