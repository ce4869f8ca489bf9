import type { Medium } from './medium.ts';
import type { Recogniser, Release } from './release.ts';
import { archNamed } from './release.ts';

const mostDiscs = 9;

// SUSE - SLE-15-SP6-Full-x86_64-Build680.2-Media1
const enterprise = /\bSLE[SD]?-(\d{1,2})(?:-SP(\d{1,2}))?-([\w.-]{1,100})$/;
// openSUSE - openSUSE-Leap-15.6-DVD-x86_64-Build710.3-Media
const leap = /\bopenSUSE-Leap-(\d{1,2}\.\d{1,2})-([\w.-]{1,100})$/;
// SLES15-SP6 15.6-0, openSUSE-Leap 15.6-1
const product = /^\/ (SLES|openSUSE-Leap)\S{0,40} (\d{1,2}(?:\.\d{1,2})?)-\S{1,20}$/;

/** Media of SUSE say in media.N what they are. */
export const suse: Recogniser = {
  looksFor: '/media.N/media or /media.N/products of SLE and openSUSE-Leap, or /content (SLES, openSUSE Leap)',
  recognise(medium): Release | undefined {
    for (let disc = 1; disc <= mostDiscs; disc++) {
      const lines = medium
        .marker(`media.${disc}/media`)
        ?.split('\n')
        .map((line) => line.trim());
      if (!lines) continue;
      const found = lines.slice(0, 2).flatMap((line) => byMedia(line) ?? [])[0] ?? byProduct(medium, lines, disc);
      return found && { family: 'suse', ...found, disc };
    }
    const found = byContent(medium);
    return found && { family: 'suse', ...found, disc: 1 };
  },
};

type Found = Pick<Release, 'base' | 'version' | 'arch'>;

function byMedia(line: string): Found | undefined {
  const [, major, pack, rest] = enterprise.exec(line) ?? [];
  if (major !== undefined && rest !== undefined)
    return complete('sles', pack === undefined ? major : `${major}.${pack}`, rest);
  const [, version, leapRest] = leap.exec(line) ?? [];
  return version === undefined || leapRest === undefined ? undefined : complete('leap', version, leapRest);
}

/** Where the name of the medium does not tell the release, its product does. */
function byProduct(medium: Medium, lines: readonly string[], disc: number): Found | undefined {
  const line = medium.marker(`media.${disc}/products`)?.split('\n', 1)[0]?.trim() ?? '';
  const [, name, version] = product.exec(line) ?? [];
  if (name === undefined || version === undefined) return undefined;
  return complete(name === 'SLES' ? 'sles' : 'leap', version, lines.slice(0, 2).join('-'));
}

/** Releases before 12: names and values, a line each. */
function byContent(medium: Medium): Found | undefined {
  const values = new Map(
    (medium.marker('content') ?? '')
      .split('\n')
      .map((line) => [line.split(/\s/, 1)[0]!, line.replace(/^\S+\s+/, '').trim()]),
  );
  const name = values.get('NAME') ?? values.get('PRODUCT') ?? '';
  const version = values.get('VERSION') ?? '';
  if (!/^(SUSE_SLES|SLES)$/.test(name) || !/^\d{1,2}(\.\d{1,2})?$/.test(version)) return undefined;
  return complete('sles', version, values.get('BASEARCHS') ?? values.get('ARCH') ?? '');
}

function complete(base: string, version: string, rest: string): Found | undefined {
  const arch = rest
    .split(/[-\s]/)
    .map(archNamed)
    .find((each) => each !== undefined);
  return arch === undefined ? undefined : { base, version, arch };
}
