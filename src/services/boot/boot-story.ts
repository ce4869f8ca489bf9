import type { BootNote } from './reports.ts';

/** What a boot is made of, one after the other; each is told by one of these steps. */
const stages: readonly (readonly [steps: readonly BootNote['step'][], done: string, missing: string])[] = [
  [['dhcp'], 'asked DHCP', 'asked DHCP'],
  [['loader'], 'fetched the boot loader', 'fetched the boot loader'],
  [['script'], 'fetched the boot script', 'fetched the boot script'],
  [['kernel'], 'fetched the kernel', 'fetched the kernel'],
  [['initrd'], 'fetched the initial RAM disk', 'fetched the initial RAM disk'],
  [['initramfs'], 'started the initial RAM disk', 'told that its initial RAM disk has started'],
  [['answer', 'fetching', 'root', 'installing'], 'began to fetch what it installs', 'fetched what it installs'],
  [['fetched', 'writing', 'written', 'installed'], 'had all of it', 'told that it has all of it'],
  [['booting', 'postscripts', 'bundle'], 'started its system', 'told that its system has started'],
  [['booted'], 'booted', 'told that it has booted'],
];

const times = (count: number): string => (count === 1 ? '' : count === 2 ? ' twice' : ` ${count} times`);

/** How far a boot has come and what did not happen: `asked DHCP twice, never fetched the boot script`. */
export function bootStory(notes: readonly BootNote[]): string {
  const seen = stages.map(([steps]) => notes.filter(({ step }) => steps.includes(step)));
  const last = seen.findLastIndex((found) => found.length > 0);
  if (last < 0) return 'never asked for anything: neither DHCP nor the boot script';
  const done = stages.slice(0, last + 1).flatMap(([, text], at) => {
    const count = seen[at]!.length;
    return count === 0 ? [] : text + (at <= 2 ? times(count) : '');
  });
  const broken = seen[last]!.at(-1)!;
  const next = broken.complete === false ? ', but not to its end' : `, never ${stages[last + 1]?.[2] ?? ''}`;
  const line = notes.findLast(({ source, text }) => source === 'report' && text !== undefined);
  const said = line === undefined ? '' : `; the last line it sent is "${line.step} ${line.text}"`;
  return `${done.join(', ')}${last === stages.length - 1 ? '' : next}${said}`;
}
