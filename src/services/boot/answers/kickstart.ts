import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../../core/errors.ts';
import { shippedImageFiles } from '../../shipped-files.ts';
import { type InstallFacts, mainSource, nodeUrl } from './facts.ts';
import { type Block, type Installer, majorOf, type Partitions } from './installer.ts';
import { isTree } from './install-source.ts';
import { given, type Piece, pieces, type Value } from './pieces.ts';
import { KickstartWriter } from './writers/kickstart.ts';
import { render } from './writers/writer.ts';

/** Anaconda: RHEL and its relatives, Fedora. */
export const kickstart: Installer = {
  name: 'kickstart',
  file: 'ks.cfg',
  write: (all) => render(all, new KickstartWriter()),
  blocks: {
    INSTALL_SOURCES: installSources,
    KICKSTARTNET: network,
    ROOTPASSWORD: ({ rootPassword }) =>
      rootPassword === undefined
        ? [['rootpw --lock']]
        : [pieces`rootpw --iscrypted ${given(rootPassword, "root's password")}`],
    TIME: time,
    WRITEREPO: repositoryFile,
  },
  partitions: ({ definition }) => definition ?? [['%include /tmp/partitionfile']],
  packages: (names) => names.map((name) => [given(name, 'pkglist')]),
  groups: (names) => names.map((name) => [given(name, 'pkglist')]),
  removed: (names) => names.map((name) => ['-', given(name, 'pkglist')]),
  end: (partitions, facts) => [...partitionScript(partitions, facts), ...failureReport(facts)],
};

const url = ({ url: text }: { url: string }): Value => given(text, 'pkgdir');

function installSources(facts: InstallFacts): Block {
  const others = facts.sources.slice(1);
  return [
    pieces`url --url=${url(mainSource(facts))}`,
    ...others.map((source, index) => [`repo --name=muster-${index + 1} --baseurl=`, url(source)]),
  ];
}

function network({ hostname, domain, nic, mac, address, nameServers }: InstallFacts): Block {
  const device = nic ?? mac;
  const named = domain ? pieces`${hostname}.${domain}` : [hostname];
  const servers: Piece[] = nameServers.flatMap((server, index) => [index === 0 ? ' --nameserver=' : ',', server]);
  const common = pieces`${device ? pieces` --device=${device}` : [' --device=link']} --hostname=${named} --activate --onboot=yes`;
  if (!address) return [pieces`network --bootproto=dhcp${common}`];
  const gateway = address.gateway
    ? pieces` --${[address.family === 4 ? 'gateway' : 'ipv6gateway']}=${address.gateway}`
    : [];
  const own =
    address.family === 4
      ? pieces` --ip=${address.address} --netmask=${address.mask}`
      : pieces` --noipv4 --ipv6=${address.address}/${address.mask}`;
  return [pieces`network --bootproto=static${own}${gateway}${servers}${common}`];
}

/** Time servers have a command of their own since RHEL 9 and Fedora 34. */
function time({ timezone, timeServers, image }: InstallFacts): Block {
  const zone = pieces`timezone ${timezone} --utc`;
  if (timeServers.length === 0) return [zone];
  const isNew = image.os.startsWith('fedora') ? majorOf(image.os) >= 34 : majorOf(image.os) >= 9;
  if (isNew) return [zone, ...timeServers.map((server) => pieces`timesource --ntp-server=${server}`)];
  return [
    [...zone, ' --ntpservers=', ...timeServers.flatMap((server, index) => (index === 0 ? [server] : [',', server]))],
  ];
}

/** In a script of the installed system: where packages come from later on. */
function repositoryFile({ sources, image }: InstallFacts): Block {
  const wholeTrees = majorOf(image.os) >= 8 && !image.os.startsWith('fedora') ? ['BaseOS', 'AppStream'] : [''];
  const places = sources.flatMap((source) =>
    isTree(source)
      ? wholeTrees.map((part) => ({ base: part === '' ? source.url : `${source.url}/${part}`, isSigned: false }))
      : [{ base: source.url, isSigned: true }],
  );
  const text = places.flatMap(({ base, isSigned }, index) => [
    `[muster-${index}]`,
    `name=muster-${index}`,
    `baseurl=${base}`,
    'enabled=1',
    `gpgcheck=${isSigned ? 1 : 0}`,
  ]);
  const words = text.flatMap((line): Piece[] => [' ', given(line, 'pkgdir')]);
  return [["printf '%s\\n'", ...words, ' > /etc/yum.repos.d/muster.repo']];
}

const usualPartitions = join(shippedImageFiles, 'redhat/install/partition.sh');

/** Definitions that a script on the node writes before they are read. */
function partitionScript({ definition, script, disk, diskScript }: Partitions, { image }: InstallFacts): Block {
  if (disk !== undefined || diskScript !== undefined)
    throw new Fault(
      'invalid',
      `${image.name}: partitionfile: a kickstart names disks in its definitions, not in a file d: of their own.`,
    );
  if (definition) return [];
  const lines = (script ?? readFileSync(usualPartitions, 'utf8')).trimEnd().split('\n');
  if (lines.some((line) => /^\s*%/.test(line)))
    throw new Fault(
      'invalid',
      `${image.name}: partitionfile: a line of the script begins with %, which would end it in a kickstart.`,
    );
  return [['%pre'], ...lines.map((line) => [line]), ['%end']];
}

/** Older ones do not know the section. */
function failureReport(facts: InstallFacts): Block {
  if (!facts.image.os.startsWith('fedora') && majorOf(facts.image.os) < 8) return [];
  const report = "curl -s -m 60 --retry 5 -H 'Content-Type: text/plain' --data-binary 'failed the installer stopped' ";
  return [['%onerror'], [report, nodeUrl(facts, 'report')], ['%end']];
}
