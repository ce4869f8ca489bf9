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
  [/DELETE \/nodes\/([^\s/]+)\/dhcp\b/g, 'makedhcp -d $1'],
  [/PUT \/globalconf\/attrs\/\w+ \{"(\w+)":"([^"]*)"\}/g, 'chdef -t site clustersite $1=$2'],
  [/POST \/osimages\/([^\s/]+)\/instance \{"action":"pack"\}/g, 'packimage $1'],
  [/POST \/osimages \{"iso":\.\.\.\}/g, 'copycds FILE'],
  [/GET \/osimages\b/g, 'lsdef -t osimage'],
  [/POST \/discovery\b/g, 'nodediscoverstart noderange=NODERANGE'],
  [/GET \/discovery\b/g, 'nodediscoverls'],
  [/GET \/changes\?since=(\d+)/g, 'muster changes --since $1'],
  [/GET \/changes\b/g, 'muster changes'],
  [/GET \/templates\/node\/all\b/g, 'lsdef --template'],
  [/GET \/services\/sshkey\b/g, 'muster sshkey'],
  [/POST \/tokens\b/g, 'muster login'],
  [/DELETE \/tokens\b/g, 'muster logout'],
  [/DELETE \/tables\/(\w+)\/rows\/([^\s.]+)/g, 'tabch -d $2 $1'],
];

const tableRow = /PUT \/tables\/(\w+)\/rows\/(\S+) (?:with )?\{([^}]*)\}/g;

/** A sentence of the server in the words of the command line. */
export function inCommands(sentence: string): string {
  // Sentences of muster are short; what is longer is not searched for requests.
  if (sentence.length > 4_096 || !/\b(GET|PUT|POST|DELETE) \//.test(sentence)) return sentence;
  const rows = sentence.replaceAll(tableRow, (_, table: string, key: string, members: string) => {
    const values = members
      .matchAll(/"(\w+)":"([^"]*)"/g)
      .map(([, column, value]) => `${table}.${column}=${quoteWord(value!)}`);
    return ['tabch', key, ...values].join(' ');
  });
  return commands.reduce((text, [request, command]) => text.replaceAll(request, command), rows);
}
