import type { Recogniser, Release } from './release.ts';
import { archNamed, shortVersion } from './release.ts';

const info = '.disk/info';

// Debian GNU/Linux 12.12.0 "Bookworm" - Official amd64 DVD Binary-2 with firmware 20250906-10:22
const debianLine = /^Debian GNU\/Linux (\d{1,4}(?:\.\d{1,4}){0,2}) "[A-Za-z ]{1,40}" - ([\w .:/-]{1,200})$/;
// Ubuntu-Server 24.04.3 LTS "Noble Numbat" - Release amd64 (20250805.1)
const ubuntuLine =
  /^Ubuntu(?:-Server)? (\d{1,2}\.\d{2}(?:\.\d{1,2})?)(?: LTS)? "[A-Za-z ]{1,40}" - ([\w .:/()-]{1,200})$/;

/** Debian and Ubuntu say in one line what a medium is. */
export const debian: Recogniser = {
  looksFor: `/${info} that begins with "Debian GNU/Linux VERSION", "Ubuntu VERSION" or "Ubuntu-Server VERSION" (Debian, Ubuntu)`,
  recognise(medium): Release | undefined {
    const line = medium.marker(info)?.split('\n', 1)[0]?.trim();
    if (line === undefined) return undefined;
    const [, debianVersion, debianRest] = debianLine.exec(line) ?? [];
    if (debianVersion !== undefined && debianRest !== undefined)
      return released('debian', shortVersion(debianVersion), debianRest);
    const [, ubuntuVersion, ubuntuRest] = ubuntuLine.exec(line) ?? [];
    if (ubuntuVersion !== undefined && ubuntuRest !== undefined) return released('ubuntu', ubuntuVersion, ubuntuRest);
    return undefined;
  },
};

function released(family: 'debian' | 'ubuntu', version: string, rest: string): Release | undefined {
  const arch = rest
    .split(/[ /]/)
    .map(archNamed)
    .find((each) => each !== undefined);
  if (arch === undefined) return undefined;
  const disc = Number(/\bBinary-(\d{1,2})\b/.exec(rest)?.[1] ?? 1);
  return { family, base: family, version, arch, disc: Math.max(1, disc) };
}
