import { isEnabled } from '../../database/tables.ts';
import { type EffectiveReader, listItems, siteValue } from '../../objects/effective.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { imageOf, installDirectory } from './node-image.ts';

const variable = /^[A-Z_][A-Z0-9_]*$/;
/** What a shell lives on; a site attribute of such a name must not change it. */
const reserved =
  /^(PATH|HOME|SHELL|USER|LOGNAME|PWD|OLDPWD|IFS|ENV|BASH_.*|BASHOPTS|SHELLOPTS|LD_.*|PS[0-4]|TERM|LANG|LC_.*|UID|EUID|PPID)$/;

/**
 * What postscripts find in their environment: the site's attributes in capitals, what they are told of node and image under the
 * names of the reference system, and what the image's attribute `environvar` adds.
 */
export function scriptEnvironment(reader: EffectiveReader, node: string): Record<string, string> {
  const { snapshot } = reader;
  const own = (name: string): string => nodeAttribute(reader, node, name) ?? '';
  const image = imageOf(reader, node);
  const groups = reader.groupsOf(node);
  const site = Object.fromEntries(
    [...snapshot.rows('site').values()].flatMap((row) =>
      isEnabled(row) && row['key'] ? [[row['key'].toUpperCase(), row['value'] ?? '']] : [],
    ),
  );
  const known = {
    NODE: node,
    GROUP: groups.join(','),
    NTYPE: groups.includes('service') ? 'service' : 'compute',
    OSVER: image.os,
    ARCH: image.arch,
    PROFILE: image.profile,
    PROVMETHOD: image.name || image.method,
    IMAGENAME: image.name,
    NODESETSTATE: own('currstate'),
    MASTER: own('xcatmaster') || (siteValue(snapshot, 'master') ?? ''),
    SITEMASTER: siteValue(snapshot, 'master') ?? '',
    INSTALLDIR: installDirectory(reader),
    UPDATENODE: '1',
  };
  const added = Object.fromEntries(
    listItems(image.attribute('environvar')).map((setting) => {
      const mark = setting.indexOf('=');
      return mark < 0 ? [setting, ''] : [setting.slice(0, mark), setting.slice(mark + 1)];
    }),
  );
  const all = Object.entries({ ...site, ...known, ...added });
  return Object.fromEntries(all.filter(([name]) => usable(name)));
}

/** Whether scripts may be given a variable of that name. */
export const usable = (name: string): boolean => variable.test(name.toUpperCase()) && !reserved.test(name);
