import { Type } from 'typebox';
import { programFile } from '../core/home.ts';
import { type ModulesFound, type ModulesJob, planModules } from '../images/index.ts';
import { long } from './long.ts';

const names = (description: string) => Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));

const args = Type.Object({
  osimage: names('images, whose driverupdatesrc is searched'),
  kitcomponent: names('components of kits, whose driverpacks are searched'),
  osdistro: names('operating systems, whose kernel packages are searched'),
  osdistroupdate: names('updates of operating systems, likewise'),
});

const letters = { osimage: '-i', kitcomponent: '-c', osdistro: '-o', osdistroupdate: '-u' } as const;

/** Lists the kernel modules in packages and directories of drivers. */
export const lskmodules = long({
  name: 'lskmodules',
  args,
  uses: ['images'],
  line: (given) =>
    Object.entries(letters).flatMap(([member, letter]) => {
      const named = given[member as keyof typeof letters];
      return named ? [letter, named.join(',')] : [];
    }),
  subject: (given) => `kernel modules of ${Object.values(given).flat().join(', ')}`,
  prepare: (snapshot, given, { images }): ModulesJob => planModules(snapshot, images, given),
  module: programFile('images/modules/list-modules'),
  answer: ({ lines }: ModulesFound) => ({ shape: 'list', items: lines }),
});
