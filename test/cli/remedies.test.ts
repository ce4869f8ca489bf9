import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands/index.ts';
import { inCommands } from '../../src/cli/remedies.ts';

describe('what the server advises, for whoever types commands', () => {
  it.each([
    ['POST /services/dhcp configures it for all networks.', 'makedhcp -n configures it for all networks.'],
    ['Write the lines first with POST /nodes/n1-n3,x/host.', 'Write the lines first with makehosts n1-n3,x.'],
    ['Do POST /nodes/a,b/dhcp, or DELETE /nodes/a/dhcp first.', 'Do makedhcp a,b, or makedhcp -d a first.'],
    [
      'DNS needs it: PUT /globalconf/attrs/domain {"domain":"..."}.',
      'DNS needs it: chdef -t site clustersite domain=....',
    ],
    ['DELETE /tables/spcert/rows/node=n1. The next', 'tabch -d node=n1 spcert. The next'],
    [
      'PUT /tables/sshhostkey/rows/node=n1 with {"hostkey":"ssh-ed25519 AAAA..."}.',
      `tabch node=n1 sshhostkey.hostkey='ssh-ed25519 AAAA...'.`,
    ],
    [
      'PUT /tables/passwd/rows/key=omapi,username=K {"password":"S","cryptmethod":"hmac-sha256"}.',
      'tabch key=omapi,username=K passwd.password=S passwd.cryptmethod=hmac-sha256.',
    ],
    ['GET /changes?since=41 shows who changed what.', 'muster changes --since 41 shows who changed what.'],
    [
      'The image x is not packed: POST /osimages/x/instance {"action":"pack"} does it.',
      'The image x is not packed: packimage x does it.',
    ],
    ['Nothing to say here, GET it?', 'Nothing to say here, GET it?'],
  ])('%s', (sentence, expected) => {
    expect(inCommands(sentence)).toBe(expected);
  });

  it('names commands that there are, for every request that a sentence names', () => {
    const src = join(import.meta.dirname, '../../src');
    const rooms = [
      '{boot,commands,dispatch,drivers,events,images,machines,names,nodes,objects,protocols,work}/**/*.ts',
      'rest/http/*.ts',
    ];
    const sentences = globSync(rooms, { cwd: src }).flatMap((file) =>
      readFileSync(join(src, file), 'utf8')
        .split('\n')
        .filter((line) => /['`"].*\b(GET|PUT|POST|DELETE) \/[a-z]/.test(line) && !/^\s*(\*|\/\*|\/\/)/.test(line))
        .map((line) => line.replaceAll(/\$\{[^}]*\}/g, '7')),
    );
    expect(sentences.length).toBeGreaterThan(25);
    const shown = sentences.filter((line) => !elsewhere.some((words) => line.includes(words))).map(inCommands);
    expect(shown.filter((line) => /\b(GET|PUT|POST|DELETE) \//.test(line))).toEqual([]);
    const named = shown.flatMap(
      (line) => line.match(/\b(make\w+|tabch|lsdef|chdef|packimage|copycds|nodediscover\w+)\b/g) ?? [],
    );
    for (const name of new Set(named)) expect(Object.keys(commands)).toContain(name);
  });
});

/** Sentences that no command shows: on screens of machines that boot, in files, in descriptions of the interface. */
const elsewhere = ['cannot boot now', 'replaces this file', 'gives Prometheus', 'GET /tables/7', 'endpoint('];
