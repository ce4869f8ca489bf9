import { resolve } from 'node:path';
import { path } from '../client.ts';
import { oneOf, say, xcatCommand } from '../command.ts';
import { longWorking } from '../common-options.ts';
import { filled, flag, refused, valued } from '../options.ts';
import { longWork } from '../server-work.ts';

export const imgcapture = xcatCommand({
  usage: `Usage: imgcapture NODE -t diskless|sysclone -o IMAGE [-p PROFILE] [-n DRIVERS] [--exlist FILE]

  Makes an image of a running node: muster copies its files by SSH. packimage makes the file that nodes fetch.`,
  options: {
    't|type': valued('TYPE', 'diskless: nodes keep it in memory; sysclone: it is copied to disks'),
    'o|osimage': valued('IMAGE', 'the image; if it is not defined, it gets os, arch and profile of the node'),
    'p|profile': valued('PROFILE', 'profile of an image that is not defined yet'),
    i: refused('an image fits all network interfaces.', 'value'),
    n: valued('DRIVERS', 'network drivers for the initial RAM disk, separated by commas'),
    exlist: filled('FILE', 'list of what is left out, on the management node'),
    'verbose|V': flag('accepted for scripts; there is nothing more to print'),
  },
  operands: 1,
  bare: 1,
  common: longWorking,
  async run(invocation, call) {
    const [node] = call.operands;
    const type = oneOf('-t', call.value('t'), ['diskless', 'sysclone']);
    const osimage = call.value('o');
    if (node === undefined || type === undefined || osimage === undefined) return say(invocation, imgcapture.usage, 1);
    const [profile, netdrivers, exlist] = [call.value('p'), call.value('n'), call.value('exlist')];
    const body = {
      osimage,
      type,
      ...(profile === undefined ? {} : { profile }),
      ...(netdrivers === undefined ? {} : { netdrivers }),
      ...(exlist === undefined ? {} : { exlist: resolve(exlist) }),
    };
    return (await longWork(invocation, path('nodes', node, 'capture'), body, call.common)) ? 0 : 1;
  },
});
