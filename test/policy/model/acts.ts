import { askedBy, type Request, type Wrong } from './request.ts';
import { mayAtAll, mayEverywhere, mayOn, type Policy } from './rules.ts';
import { addressOf, bmcOf, isWord, type Letter, nodeNames } from './world.ts';

/** Machines that were spoken to without a right to do it. Those that muster follows by itself are spoken to at any time. */
export function actedOutside(
  policy: Policy,
  letter: Letter,
  request: Request,
  heard: readonly string[],
  followed: ReadonlySet<string>,
): Wrong[] {
  const asked = askedBy(request);
  const nodeAt = (address: string): string | undefined =>
    nodeNames.find((node) => [bmcOf(letter, node), addressOf(letter, node)].includes(address));
  return heard.flatMap((address) => {
    const node = nodeAt(address);
    if (followed.has(address)) return [];
    if (node !== undefined && asked.some((each) => mayOn(policy, each, node))) return [];
    // A search for BMCs is about no node.
    if (request.row.command.name === 'bmcdiscover' && asked.some((each) => mayAtAll(policy, each))) return [];
    return `${address}, the machine of ${node ?? 'nobody here'}, was spoken to`;
  });
}

/** Lines of the hosts file that were changed for others. */
export function hostsOutside(policy: Policy, letter: Letter, request: Request, before: string, after: string): Wrong[] {
  if (before === after) return [];
  const asked = askedBy(request);
  const lines = new Set(before.split('\n')).symmetricDifference(new Set(after.split('\n')));
  return nodeNames.flatMap((node) => {
    const concerned = [...lines].some((line) => isWord(line, node) || line.startsWith(`${addressOf(letter, node)} `));
    if (
      !concerned ||
      asked.some((each) => mayOn(policy, each, node)) ||
      asked.some((each) => mayEverywhere(policy, each))
    )
      return [];
    return `the line of ${node} in the hosts file has changed`;
  });
}
