import { Fault } from '../../core/errors.ts';
import { kitFrameworks } from '../../core/kit-frameworks.ts';
import { listItems } from '../../core/list-items.ts';
import { plainName } from '../bundles/bundle.ts';

export const kitConfName = 'kit.conf';
/** Scripts and lists of a kit lie here. */
export const otherFilesName = 'other_files';

export type KitAttributes = Readonly<Record<string, string>>;

/** What kit.conf says of a kit. */
export interface KitConf {
  readonly framework: string | undefined;
  readonly frameworks: readonly string[];
  readonly kit: KitAttributes;
  readonly repos: readonly KitAttributes[];
  readonly components: readonly KitAttributes[];
}

type Stanza = { readonly kind: string; readonly attributes: Record<string, string> };

/** Reads stanzas (`kitrepo:`, then lines `NAME=VALUE`). */
export function parseKitConf(text: string, what: string): KitConf {
  const stanzas: Stanza[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const kind = /^(\w+)\s*:$/.exec(line)?.[1];
    const pair = /^(\w+)\s*=\s*(.*)$/.exec(line);
    if (kind !== undefined) stanzas.push({ kind, attributes: {} });
    else if (pair && stanzas.length > 0) stanzas.at(-1)!.attributes[pair[1]!] = pair[2]!;
    else
      throw new Fault(
        'invalid',
        `${what}: line ${index + 1} of ${kitConfName} is neither the name of a stanza nor NAME=VALUE.`,
      );
  }
  const all = (wanted: string): KitAttributes[] =>
    stanzas.filter(({ kind }) => kind === wanted).map(({ attributes }) => attributes);
  const [kit, second] = all('kit');
  if (!kit || second) throw new Fault('invalid', `${what}: ${kitConfName} must have exactly one stanza kit.`);
  const built = all('kitbuildinfo')[0];
  return {
    framework: built?.['kitframework'],
    frameworks: listItems(built?.['compatible_kitframeworks'] ?? ''),
    kit,
    repos: all('kitrepo'),
    components: all('kitcomponent'),
  };
}

/** Attributes whose values become parts of paths, or packages. */
const nameAttributes = {
  kit: ['kitname', 'basename'],
  kitrepo: ['kitreponame'],
  kitcomponent: ['kitcompname', 'basename', 'kitreponame'],
} as const;
const fileAttributes = { kit: ['kitdeployparams'], kitcomponent: ['exlist'] } as const;

/** Refuses a kit that was not built for this, or whose parts do not belong together. */
export function checkKitConf({ frameworks, kit, repos, components }: KitConf, what: string): void {
  const wrong = (reason: string): Fault => new Fault('invalid', `${what}: ${kitConfName}: ${reason}.`);
  if (frameworks.length > 0 && !frameworks.some((each) => kitFrameworks.compatible.some((own) => own === each)))
    throw wrong(
      `the kit is for the frameworks ${frameworks.join(', ')}; muster reads kits of ${kitFrameworks.compatible.join(', ')}`,
    );
  const checkNames = (kind: string, attributes: KitAttributes, names: readonly string[], needed: boolean): void => {
    for (const name of names) {
      const value = attributes[name] ?? '';
      if ((value === '' && needed) || (value !== '' && !plainName.test(value)))
        throw wrong(`${name} ${JSON.stringify(value)} of a ${kind} is not a name of letters, digits and ._+-`);
    }
  };
  checkNames('kit', kit, nameAttributes.kit, true);
  checkNames('kit', kit, fileAttributes.kit, false);
  for (const repo of repos) checkNames('kitrepo', repo, nameAttributes.kitrepo, true);
  const names = repos.map((repo) => repo['kitreponame']);
  for (const component of components) {
    checkNames('kitcomponent', component, nameAttributes.kitcomponent, true);
    checkNames('kitcomponent', component, fileAttributes.kitcomponent, false);
    if (!names.includes(component['kitreponame']))
      throw wrong(`${component['kitcompname']} is of the repository ${component['kitreponame']}, which the kit lacks`);
    const script = scriptsOf([component]).find((each) => !plainName.test(each));
    if (script !== undefined) throw wrong(`${JSON.stringify(script)} is not the name of a script`);
  }
  for (const each of [...repos, ...components])
    if ((each['kitname'] ?? kit['kitname']) !== kit['kitname'])
      throw wrong(`${each['kitcompname'] ?? each['kitreponame']} is of another kit, ${each['kitname']}`);
  const twice = [...names, ...components.map((each) => each['kitcompname'])].find(
    (name, at, all) => all.indexOf(name) !== at,
  );
  if (twice !== undefined) throw wrong(`${twice} comes twice`);
}

/** The scripts that components bring, which nodes and images run. */
export const scriptsOf = (components: readonly KitAttributes[]): string[] => [
  ...new Set(
    components.flatMap((component) =>
      ['postbootscripts', 'genimage_postinstall'].flatMap((attribute) => listItems(component[attribute] ?? '')),
    ),
  ),
];

const parameter = /^#ENV:\s*([A-Za-z_][A-Za-z0-9_]*)=(.*?)\s*#$/;

/** The parameters in a file of `kitdeployparams`: lines `#ENV:NAME=VALUE#`. */
export function parseDeployParameters(text: string): [name: string, value: string][] {
  return text.split('\n').flatMap((line): [string, string][] => {
    const found = parameter.exec(line.trim());
    return found ? [[found[1]!, found[2]!]] : [];
  });
}
