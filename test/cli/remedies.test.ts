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
    ['Look at it with GET /runs/0b1e-11 and wait.', 'Look at it with muster runs show 0b1e-11 and wait.'],
    ['GET /changes?since=41 shows who changed what.', 'muster changes --since 41 shows who changed what.'],
    [
      'The image x is not packed: POST /osimages/x/instance {"action":"pack"} does it.',
      'The image x is not packed: packimage x does it.',
    ],
    ['POST /osimages/x/instance {"action":"gen"} does it.', 'genimage x does it.'],
    ['PUT /nodes/n1,n2/bootstate {"state":"boot"} sets them.', 'nodeset n1,n2 boot sets them.'],
    ['GET /nodes/n1/bootstate shows it.', 'nodeset n1 stat shows it.'],
    ['PUT /nodes/NODE/nextboot {"order":"net"} chooses it.', 'rsetboot NODE net chooses it.'],
    [
      'such as PUT /tables/policy/rows/priority=1 {"name":"root","rule":"allow"}.',
      'such as tabch priority=1 policy.name=root policy.rule=allow.',
    ],
    ['use POST /nodes/v1/vmmigrate {"target":"hv2"}. To make', 'use rmigrate v1 hv2. To make'],
    ['POST /nodes/n1/sp/rotate gives it a new password.', 'muster bmc rotate n1 gives it a new password.'],
    ['Look with GET /nodes/n1/sp/accounts before', 'Look with muster bmc accounts n1 before'],
    ['Delete them first with DELETE /nodes/v1/snapshots, or', 'Delete them first with snapvm v1 clear, or'],
    ['remove the machine with DELETE /nodes/v1/vm, which', 'remove the machine with rmvm v1, which'],
    ['with DELETE /nodes/v1/snapshots/before.update-2.', 'with snapvm v1 delete before.update-2.'],
    ['with DELETE /nodes/v1/snapshots/a%20b.', "with snapvm v1 delete 'a b'."],
    ['DELETE /nodes/v1/snapshots/%C3%A4 does it.', 'DELETE /nodes/v1/snapshots/%C3%A4 does it.'],
    ['Name it: PUT /nodes/n1/servicenode {"servicenode":"NAME"}.', 'Name it: snmove n1 -d NAME.'],
    [
      'Give it: PUT /nodes/n1,n2/servicenode {"servicenode":"sn2","xcatmaster":"ADDRESS"}.',
      'Give it: snmove n1,n2 -d sn2 -D ADDRESS.',
    ],
    ['DELETE /nodes/k7/vm with force removes it.', 'rmvm k7 -f removes it.'],
    ['To remove it all the same, use force.', 'To remove it all the same, use --force.'],
    ['Delete them with DELETE /nodes/v1/snapshots, or use force.', 'Delete them with snapvm v1 clear, or use --force.'],
    ['To add it too, use adddeps.', 'To add it too, use --adddeps.'],
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
    // Without its path nobody knows what command a request is.
    const pathless = globSync(rooms, { cwd: src }).flatMap((file) =>
      readFileSync(join(src, file), 'utf8')
        .split('\n')
        .filter((line) =>
          /['`].*\b((PUT|POST|DELETE) [a-z]+ (sets|removes|does|\{)|(GET|PUT|POST|DELETE) instance\b)/.test(line),
        ),
    );
    expect(pathless).toEqual([]);
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
