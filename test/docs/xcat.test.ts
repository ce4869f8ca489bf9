import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { runPage } from './run-page.ts';

/** What dumpxCATdb has written on the old server: among it a mask without a slash and a table of the site's own. */
const dump = {
  nodelist:
    '#node,groups,status,statustime,appstatus,appstatustime,primarysn,hidden,updatestatus,updatestatustime,zonename,comments,disable\n"m1","all,compute",,,,,,,,,,,\n',
  nodehm: '#node,power,mgt\n"m1",,"ipmi"\n',
  networks: '#netname,net,mask\n"v6","fd00:1::","64"\n',
  passwd: '#key,username,password,cryptmethod\n"xcat","root","$6$abcdefgh$7qQGqT6dL4Q1b5uOq0WzX1","sha512"\n',
  policy: '#priority,name,rule\n"1","root","allow"\n',
  ourinventory: '#name\n"x"\n',
};

it('docs/xcat.md shows commands that work', () =>
  runPage('docs/xcat.md', {
    addresses: ['10.1.0.1/16'],
    prepare({ inside, directory }) {
      const from = join(directory, 'xcat-dump');
      mkdirSync(from);
      for (const [table, text] of Object.entries(dump)) writeFileSync(join(from, `${table}.csv`), text);
      inside.run('cp', '-r', from, '/root/xcat-dump');
    },
  }));
