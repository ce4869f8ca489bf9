import type { Verification } from './build-tree.ts';
import type { Medium } from './medium.ts';
import { osName } from './recognise.ts';
import type { Release } from './release.ts';

/** What a medium is, in the words of the reference system. */
export const told = ({ contents }: Medium, release: Release): string[] => [
  `DISTNAME:${osName(release)}`,
  `ARCH:${release.arch}`,
  `DISCNO:${release.disc}`,
  `The medium has ${contents.files.length} files.`,
];

/** What could be verified, and what could not. */
export function toldVerification({ contents }: Medium, { files, whole }: Verification): string[] {
  // A list has no checksum of itself.
  const all = contents.files.filter(({ path }) => !files.lists.includes(path)).length;
  const verified = [...files.ofFiles.keys()].filter((path) => !files.lists.includes(path)).length;
  const by = files.lists.map((list) => `/${list}`).join(' and ');
  return [
    ...(whole ? ['The medium as a whole is as the MD5 sum that was put into it says.'] : []),
    ...(verified > 0 ? [`${verified} of its ${all} files are as ${by} of the medium say.`] : []),
    ...(!whole && verified === 0
      ? [`None of its ${all} files could be verified: the medium has no checksums of them.`]
      : !whole && verified < all
        ? [`${all - verified} files could not be verified: the medium has no checksums of them.`]
        : []),
    ...(files.absent > 0 ? [`The medium has checksums of ${files.absent} files that are not on it.`] : []),
  ];
}
