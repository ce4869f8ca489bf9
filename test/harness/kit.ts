import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface KitOptions {
  readonly name?: string;
  readonly version?: string;
  /** The operating system of its repository: `debian12`. */
  readonly os?: string;
  /** More lines of kit.conf. */
  readonly more?: string;
  /** More files, by their paths in the kit. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  readonly compress?: 'bzip2' | 'gzip' | 'xz';
}

/** Writes a kit as buildkit makes them: two components, the second of which needs the first. Answers the path of the archive. */
export function makeKit(directory: string, options: KitOptions = {}): string {
  const { name = 'tools', version = '1.0', os = 'debian12', more = '', files = {}, compress = 'bzip2' } = options;
  const [, base = '', major = ''] = /^([a-z]+)(\d+)/.exec(os)!;
  const kit = `${name}-${version}-1`;
  const system = `${base}-${major}-x86_64`;
  const conf = `# built by a test
kitbuildinfo:
   kitframework=2
   compatible_kitframeworks=0,1,2

kit:
   kitname=${kit}
   basename=${name}
   description=description for ${name}
   version=${version}
   release=1
   ostype=Linux
   vendor=nobody
   kitdeployparams=${name}.env

kitrepo:
   kitreponame=${kit}-${system}
   osbasename=${base}
   osmajorversion=${major}
   osarch=x86_64

kitcomponent:
   kitcompname=${name}-license-${version}-1-${system}
   basename=${name}-license
   description=license
   kitreponame=${kit}-${system}
   version=${version}
   release=1
   serverroles=compute,servicenode
   kitpkgdeps=${name}-eula

kitcomponent:
   kitcompname=${name}-compute-${version}-1-${system}
   basename=${name}-compute
   kitreponame=${kit}-${system}
   version=${version}
   release=1
   serverroles=compute
   kitcompdeps=${name}-license >= 1.0
   kitpkgdeps=${name}-one,${name}-two
   postbootscripts=${name}_boot
   genimage_postinstall=${name}_image
   exlist=${name}.exlist
${more}`;
  const content: Record<string, string | Buffer> = {
    'kit.conf': conf,
    [`other_files/${name}.env`]: `#ENV:KIT_${name.toUpperCase()}_LICENSE=accept it#\n`,
    [`other_files/${name}.exlist`]: './usr/share/doc*\n',
    [`other_files/${name}_boot`]: '#!/bin/sh\nexit 0\n',
    [`other_files/${name}_image`]: '#!/bin/sh\necho "$KIT_TOOLS_LICENSE in $installroot" > "$installroot/etc/kit"\n',
    [`repos/${kit}-${system}/Packages`]: '',
    ...files,
  };
  const top = join(directory, `${kit}-source`, kit);
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(join(top, path, '..'), { recursive: true });
    writeFileSync(join(top, path), text);
  }
  const archive = join(directory, `${kit}.tar.${{ bzip2: 'bz2', gzip: 'gz', xz: 'xz' }[compress]}`);
  execFileSync('tar', [`--${compress}`, '-cf', archive, '-C', join(top, '..'), kit]);
  return archive;
}
