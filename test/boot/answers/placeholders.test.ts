import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { scratchDirectory } from '../../harness/store.ts';
import { hash, Site } from './site.ts';

const site = new Site('rocky9.6');

type Given = Parameters<Site['rendered']>[1];

/** The lines of the template, without what stands behind it in every kickstart. */
const rendered = async (template: string, given: Given = {}): Promise<string> => {
  const text = await site.rendered(`${template}\n`, given);
  return text.slice(0, text.search(/^%(pre|onerror)$/m)).trimEnd();
};

async function refused(template: string, given: Given = {}): Promise<string> {
  try {
    await site.rendered(template, given);
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
  throw new Error(`${template} was not refused`);
}

describe('#TABLE:table:key:column#', () => {
  const tables = {
    noderes: [{ node: 'all', nfsserver: '|n(\\d+)|10.0.0.($1+100)|' }],
    networks: [{ netname: 'net', net: '10.0.0.0', mask: '255.255.255.0', gateway: '10.0.0.1' }],
    ipmi: [{ node: 'n1', bmc: '10.1.0.1', password: 'sealed' }],
  };

  it.each([
    ['#TABLE:noderes:$NODE:nfsserver#', '10.0.0.101'],
    ['#TABLE:noderes:THISNODE:nfsserver#', '10.0.0.101'],
    ['#TABLE:site:key=timezone:value#', 'Europe/Vienna'],
    ['#TABLE:site:timezone:value#', 'Europe/Vienna'],
    ['#TABLE:networks:net=10.0.0.0,mask=255.255.255.0:gateway#', '10.0.0.1'],
    ['#TABLE:nodetype:node=$NODE:os#', 'rocky9.6'],
    ['#TABLEBLANKOKAY:noderes:$NODE:tftpserver#', ''],
  ])('%s is what the table says', async (placeholder, value) => {
    expect(await rendered(`lang ${placeholder}`, { tables })).toBe(`lang ${value}`.trimEnd());
  });

  it.each([
    ['#TABLE:noderes:$NODE:tftpserver#', 'has no value'],
    ['#TABLE:noderes:$NODE:nosuch#', 'has no column "nosuch"'],
    ['#TABLE:nosuch:$NODE:x#', 'names a table'],
    ['#TABLE:auditlog:recid=1:args#', 'names a table'],
    ['#TABLE:networks:$NODE:net#', 'do not belong to nodes'],
    ['#TABLE:noderes#', 'must be #TABLE:table:key:column#'],
    ['#TABLE:passwd:key=system,username=root:password#', 'is a secret'],
    ['#TABLE:ipmi:$NODE:password#', 'is a secret'],
    ['#TABLEBLANKOKAY:ipmi:$NODE:password#', 'is a secret'],
    ['#TABLE:ipmi:password=sealed:bmc#', 'not found by "password"'],
    ['#TABLE:site:key=dbpassword:value#', 'is a secret'],
  ])('%s is refused', async (placeholder, reason) => {
    expect(await refused(`lang ${placeholder}\n`, { tables, site: { dbpassword: 'x' } })).toContain(reason);
  });
});

it("root's password is there as a hash only", async () => {
  const crypt = '#CRYPT:passwd:key=system,username=root:password#';
  expect(await rendered(`rootpw --iscrypted ${crypt}`)).toBe(`rootpw --iscrypted ${hash}`);
  expect(await refused(`rootpw ${crypt}`, { rootPassword: undefined })).toContain('table passwd');
  expect(await refused('rootpw #CRYPT:passwd:key=vmware,username=root:password#')).toContain("only the hash of root's");
});

it('variables are those of the reference system, and none of this process', async () => {
  const names = ['XCATMASTER', 'HTTPPORT', 'NODE', 'INSTALLDIR', 'IMAGENAME', 'OS', 'ARCH', 'PROFILE'];
  expect(await rendered(names.map((name) => `x #XCATVAR:${name}#`).join('\n'))).toBe(
    ['10.0.0.254', '8080', 'n1', site.installdir, 'img', 'rocky9.6', 'x86_64', 'compute']
      .map((each) => `x ${each}`)
      .join('\n'),
  );
  expect(await rendered('x #ENV:INSTALLDIR#')).toBe(`x ${site.installdir}`);
  expect(await refused('x #ENV:PATH#')).toContain('#ENV:PATH# is not known');
  expect(await refused('x #XCATVAR:HOME#')).toContain('is not known');
});

it('nothing is run', async () => {
  expect(await refused('lang en\nx #COMMAND:touch /tmp/x#')).toMatch(/line 2: #COMMAND:.*would run a command/);
});

it('what is not known is refused with what there is', async () => {
  expect(await refused('#NOSUCH#')).toMatch(/#NOSUCH# is not known for kickstart\..*HOSTNAME.*PARTITIONS/s);
  expect(await refused('#CONSTRUCTOR#')).toContain('is not known');
  expect(await rendered('# a comment #\n#no#')).toBe('# a comment #\n#no#');
});

describe('#INCLUDE:file#', () => {
  it('takes files beside it and files that the directory for installing holds', async () => {
    site.file('custom/scripts/post', 'echo #HOSTNAME#');
    const full = site.file('elsewhere/more', 'echo more\n#INCLUDE:deeper/most#');
    site.file('elsewhere/deeper/most', 'echo most');
    expect(await rendered(`%post\n#INCLUDE:scripts/post#\n#INCLUDE:${full}#\n%end`)).toBe(
      '%post\necho n1\necho more\necho most\n%end',
    );
    expect(await rendered('#INCLUDE:#ENV:INSTALLDIR#/custom/scripts/post#')).toBe('echo n1');
  });

  it('takes no others, whatever leads there', async () => {
    const outside = scratchDirectory();
    writeFileSync(join(outside, 'secret'), 'secret');
    mkdirSync(join(site.installdir, 'custom'), { recursive: true });
    symlinkSync(join(outside, 'secret'), join(site.installdir, 'custom/link'));
    symlinkSync(outside, join(site.installdir, 'custom/directory'));
    for (const path of [
      `${outside}/secret`,
      'link',
      'directory/secret',
      '../../../../etc/passwd',
      '/etc/passwd',
      '/proc/self/environ',
    ])
      expect(await refused(`#INCLUDE:${path}#`)).toMatch(/outside the directories/);
    expect(await refused('#INCLUDE:#')).toContain('names no file');
    expect(await refused('#INCLUDE:nosuch#')).toMatch(/does not exist|no file/);
    expect(await refused('#INCLUDE:.#')).toMatch(/is not a file/);
  });

  it('ends where files include each other', async () => {
    site.file('custom/a', '#INCLUDE:b#');
    site.file('custom/b', '#INCLUDE:a#');
    expect(await refused('#INCLUDE:a#')).toContain('which includes it again');
    for (let depth = 0; depth < 10; depth++) site.file(`custom/deep${depth}`, `#INCLUDE:deep${depth + 1}#`);
    site.file('custom/deep10', 'x');
    expect(await refused('#INCLUDE:deep0#')).toContain('8 deep');
    site.file('custom/many', 'x\n');
    expect(await refused('#INCLUDE:many#\n'.repeat(101))).toContain('at most 100 files');
  });
});

const imageRow = {
  imagename: 'img',
  osvers: 'rocky9.6',
  osarch: 'x86_64',
  provmethod: 'install',
  imagetype: 'linux',
};

describe('package lists', () => {
  const lists = (): NonNullable<Given> => ({
    image: {
      pkglist: site.file('lists/a.pkglist', '@core\nbash\n-nano\n#INCLUDE:b.pkglist#\n'),
      otherpkglist: site.file('lists/o.pkglist', 'extra/tool\n'),
      otherpkgdir: join(site.installdir, 'other'),
    },
  });
  site.file('lists/b.pkglist', 'vim\n');
  mkdirSync(join(site.installdir, 'other'), { recursive: true });

  it('of the image and others stand where they are wanted', async () => {
    site.file('custom/c.pkglist', 'emacs\n');
    const template =
      '%packages\n#INCLUDE_DEFAULT_PKGLIST#\n#INCLUDE_DEFAULT_RMPKGLIST#\n#INCLUDE_PKGLIST:c.pkglist#\n%end';
    expect(await rendered(template, lists())).toBe('%packages\n@core\nbash\nvim\ntool\n-nano\nemacs\n%end');
  });

  it('are those of compute nodes where the image names none, so that there is an SSH server', async () => {
    const listed = (profile: string) =>
      rendered('%packages\n#INCLUDE_DEFAULT_PKGLIST#\n%end', {
        image: { pkglist: '' },
        tables: { osimage: [{ ...imageRow, profile }] },
      });
    for (const profile of ['compute', 'mine']) expect(await listed(profile)).toContain('\nopenssh-server\n');
    site.file('custom/install/rocky/mine.pkglist', 'mine-alone\n');
    expect(await listed('mine')).toBe('%packages\nmine-alone\n%end');
  });

  it('of the directory of other packages have a repository', async () => {
    expect(await rendered('#INSTALL_SOURCES#', lists())).toBe(
      `url --url=http://10.0.0.254:8080/boot/install/rocky9.6/x86_64\nrepo --name=muster-1 --baseurl=http://10.0.0.254:8080/boot/install/other`,
    );
  });

  it('are read from where templates are', async () => {
    expect(await refused('#INCLUDE_PKGLIST:/etc/passwd#')).toContain('outside the directories');
    expect(await refused('#INCLUDE_PKGLIST#')).toContain('path of a list');
    expect(await refused('#INCLUDE_DEFAULT_PKGLIST:x#')).toContain('path of a list');
  });
});

describe('partitions', () => {
  const region = 'a\n#XCAT_PARTITION_START#\nautopart\n#XCAT_PARTITION_END#\nb';

  it('of the template give way to the file of the image', async () => {
    expect(await rendered(region)).toBe('a\n\nautopart\n\nb');
    const partitionfile = site.file(
      'custom/parts',
      'part / --size=#TABLE:site:key=size:value#\n\npart swap --recommended\n',
    );
    expect(await rendered(region, { image: { partitionfile }, site: { size: '8192' } })).toBe(
      'a\npart / --size=8192\npart swap --recommended\nb',
    );
  });

  it('of a script are found out by the node', async () => {
    const script = site.file('custom/parts.sh', 'echo autopart > /tmp/partitionfile\n');
    const text = await site.rendered(region, { image: { partitionfile: `s:${script}` } });
    expect(text).toContain('a\n%include /tmp/partitionfile\nb');
    expect(text).toContain('%pre\nwanted=\necho autopart > /tmp/partitionfile\n%end\n');
    const ends = site.file('custom/ends.sh', 'x\n%end\n%post\n');
    expect(await refused(region, { image: { partitionfile: `s:${ends}` } })).toContain('begins with %');
  });

  it.each(['relative', 's:c:/x', 'x:/y', 'd:', '/etc/passwd', 's:/etc/passwd'])(
    '%s are refused',
    async (partitionfile) => {
      expect(await refused(region, { image: { partitionfile } })).toMatch(/partitionfile|outside the directories/);
    },
  );
});
