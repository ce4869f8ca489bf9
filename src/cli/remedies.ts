import { quoteWord } from '../core/shell-words.ts';

/**
 * Sentences of the server advise requests, because programs read them too. Whoever types commands gets the commands instead. Each request
 * that a sentence of muster names has a line here; a test looks for those that have none.
 */
const commands: readonly (readonly [request: RegExp, command: string])[] = [
  [/POST \/services\/dns\b/g, 'makedns -n'],
  [/POST \/services\/dhcp\b/g, 'makedhcp -n'],
  [/POST \/networks\b/g, 'makenetworks'],
  [/POST \/nodes\/([^\s/]+)\/host\b/g, 'makehosts $1'],
  [/POST \/nodes\/([^\s/]+)\/dns\b/g, 'makedns $1'],
  [/POST \/nodes\/([^\s/]+)\/dhcp\b/g, 'makedhcp $1'],
  [/PUT \/nodes\/([^\s/]+)\/bootstate \{"state":"(\w+)"\}/g, 'nodeset $1 $2'],
  [/GET \/nodes\/([^\s/]+)\/bootstate\b/g, 'nodeset $1 stat'],
  [/PUT \/nodes\/([^\s/]+)\/power \{"action":"(\w+)"\}/g, 'rpower $1 $2'],
  [/GET \/nodes\/([^\s/]+)\/power\b/g, 'rpower $1 stat'],
  [/GET \/nodes\/([^\s/]+)\/nextboot\b/g, 'rsetboot $1 stat'],
  [/GET \/nodes\/([^\s/]+)\/sp\/accounts\b/g, 'muster bmc accounts $1'],
  [/PUT \/nodes\/([^\s/]+)\/sp\/accounts\/(\S+)/g, 'muster bmc chuser $1 $2'],
  [/POST \/nodes\/([^\s/]+)\/sp\/rotate\b/g, 'muster bmc rotate $1'],
  [/POST \/nodes\/([^\s/]+)\/sp\/certificates\b/g, 'muster bmc renew $1'],
  [/POST \/nodes\/([^\s/]+)\/sp\/certificaterequests\b/g, 'muster bmc request $1 --directory DIR'],
  [/PUT \/nodes\/([^\s/]+)\/sp\/certificates\b/g, 'muster bmc install $1 --directory DIR'],
  [/GET \/bmcauthority\b/g, 'muster bmc authority'],
  [/GET \/nodes\/([^\s/]+)\/media\b/g, 'muster media $1'],
  [/GET \/nodes\/([^\s/]+)\/bios\b/g, 'muster bios get $1'],
  [/GET \/nodes\/([^\s/]+)\/sp\/(\w+)\b/g, 'rspconfig $1 $2'],
  [/GET \/nodes\/([^\s/]+)\/nodestat\b/g, 'nodestat $1'],
  [/PUT \/nodes\/([^\s/]+) \{"(\w+)":"([^"]*)"\}/g, 'chdef -t node -o $1 $2=$3'],
  [/PUT \/nodes\/([^\s/]+)\/nextboot \{"order":"(\w+)"\}/g, 'rsetboot $1 $2'],
  [/PUT \/nodes\/([^\s/]+)\/servicenode \{"servicenode":"([^"]*)"\}/g, 'snmove $1 -d $2'],
  [/PUT \/nodes\/([^\s/]+)\/servicenode \{"servicenode":"([^"]*)","xcatmaster":"([^"]*)"\}/g, 'snmove $1 -d $2 -D $3'],
  [/DELETE \/nodes\/([^\s/]+)\/dhcp\b/g, 'makedhcp -d $1'],
  [/DELETE \/nodes\/([^\s/]+)\/snapshots\b(?!\/)/g, 'snapvm $1 clear'],
  [/DELETE \/nodes\/([^\s/]+)\/vm with --force\b/g, 'rmvm $1 -f'],
  [/DELETE \/nodes\/([^\s/]+)\/vm\b/g, 'rmvm $1'],
  [/POST \/nodes\/([^\s/]+)\/vmmigrate \{"target":"([^"]*)"\}/g, 'rmigrate $1 $2'],
  [/PUT \/globalconf\/attrs\/\w+ \{"(\w+)":"([^"]*)"\}/g, 'chdef -t site clustersite $1=$2'],
  [/POST \/osimages\/([^\s/]+)\/instance \{"action":"gen"\}/g, 'genimage $1'],
  [/POST \/osimages\/([^\s/]+)\/instance \{"action":"pack"\}/g, 'packimage $1'],
  [/POST \/osimages \{"iso":\.\.\.\}/g, 'copycds FILE'],
  [/PUT \/osimages\/([^\s/]+) \{"(\w+)":""\}/g, 'chdef -t osimage -o $1 $2='],
  [/DELETE \/osimages\/([^\s/]+)\/kitcomponents\/([\w.+,-]*[\w+-])/g, 'rmkitcomp -i $1 $2'],
  [/GET \/kitcomponents\b/g, 'lskitcomp'],
  [/GET \/kits\b/g, 'lskit'],
  [/DELETE \/kits\/([\w.+-]*[\w+-])/g, 'rmkit $1'],
  [/GET \/definitions\/osdistro\b/g, 'lsdef -t osdistro'],
  [/DELETE \/osimages\/([^\s/]+)\/instance\b/g, 'rmimage $1'],
  [/POST \/nodes\/([^\s/]+)\/nodeshell \{"command":\["true"\]\}/g, 'xdsh $1 true'],
  [/GET \/osimages\b/g, 'lsdef -t osimage'],
  [/POST \/discovery\b/g, 'nodediscoverstart noderange=NODERANGE'],
  [/GET \/discovery\b/g, 'nodediscoverls'],
  [/GET \/changes\?since=(\d+)/g, 'muster changes --since $1'],
  [/GET \/changes\b/g, 'muster changes'],
  [/GET \/definitions\/(\w+)\b/g, 'lsdef -t $1'],
  [/GET \/templates\/node\/all\b/g, 'lsdef --template'],
  [/GET \/servers\b/g, 'muster servers'],
  [/DELETE \/servers\/([^\s/]*[^\s/.])/g, 'muster servers forget $1'],
  [/GET \/services\/sshkey\b/g, 'muster sshkey'],
  [/GET \/runs\/([\w-]+)/g, 'muster runs show $1'],
  [/GET \/tokens\b/g, 'muster token list'],
  [/POST \/tokens\b/g, 'muster login'],
  [/DELETE \/tokens\b/g, 'muster logout'],
  [/PUT \/definitions\/(\w+)\/([^\s/]+)\/rename \{"name":"([^"]*)"\}/g, 'chdef -t $1 -o $2 -n $3'],
  [/GET \/tables\/(\w+)\/rows\b(?!\/)/g, 'tabdump $1'],
  [/DELETE \/tables\/(\w+)\/rows\/([^\s.]+)/g, 'tabch -d $2 $1'],
  [/GET \/powerbudgets\b/g, 'muster budget show'],
];

const tableRow = /PUT \/tables\/(\w+)\/rows\/(\S+) (?:with )?\{([^}]*)\}/g;

/** Of a name that virsh has given, the path has no more than ASCII in another form. */
const snapshot = /DELETE \/nodes\/([^\s/]+)\/snapshots\/((?:[^\s/%]|%[2-7][\dA-F])*[^\s/%.])/g;

/** Members of requests that are options of every command whose sentences name them. */
const options = /\b(use|with) (force|adddeps)\b/g;

/** A sentence of the server in the words of the command line. */
export function inCommands(given: string): string {
  // Sentences of muster are short; what is longer is not searched for requests.
  if (given.length > 4_096) return given;
  const sentence = given.replaceAll(options, '$1 --$2');
  if (!/\b(GET|PUT|POST|DELETE) \//.test(sentence)) return sentence;
  const rows = sentence.replaceAll(tableRow, (_, table: string, key: string, members: string) => {
    const values = members
      .matchAll(/"(\w+)":"([^"]*)"/g)
      .map(([, column, value]) => `${table}.${column}=${quoteWord(value!)}`);
    return ['tabch', key, ...values].join(' ');
  });
  const snapshots = rows.replaceAll(
    snapshot,
    (_, node: string, name: string) => `snapvm ${node} delete ${quoteWord(decodeURIComponent(name))}`,
  );
  return commands.reduce((text, [request, command]) => text.replaceAll(request, command), snapshots);
}
