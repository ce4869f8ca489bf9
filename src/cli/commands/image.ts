import { resolve } from 'node:path';
import { path } from '../client.ts';
import { type Call, type Invocation, musterCommand } from '../command.ts';
import { longWorking } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { filled, flag } from '../options.ts';
import { longWork } from '../server-work.ts';

const wrongCall = 'Say what to do with which image: build, exec, shell, pull, tag, untag or rollback.';

/** What can be done: how many words may follow the image, at least and at most, and the work. */
interface Action {
  readonly words: readonly [least: number, most: number];
  /** It is more than one run, so it cannot be left. */
  readonly staysAttached?: boolean;
  /** The options that mean something to it. */
  readonly options?: readonly string[];
  run(invocation: Invocation, call: Call, image: string, words: readonly string[]): Promise<boolean>;
}

const actions = {
  build: {
    words: [0, 0],
    options: ['if-changed'],
    staysAttached: true,
    async run(invocation, call, image) {
      const params = call.flag('if-changed') ? [{ ifchanged: '' }] : [];
      return (
        (await work(invocation, call, image, { action: 'gen' })) &&
        work(invocation, call, image, { action: 'pack', params })
      );
    },
  },
  exec: {
    words: [1, Number.POSITIVE_INFINITY],
    options: ['network'],
    run: (invocation, call, image, words) => work(invocation, call, image, runBody(call, words)),
  },
  shell: { words: [0, 0], options: ['network'], staysAttached: true, run: shell },
  pull: {
    words: [1, 1],
    options: ['kernel', 'arch', 'osvers', 'profile', 'container', 'force'],
    run: (invocation, { common, flag: has, value }, image, [source = '']) =>
      longWork(invocation, path('osimages'), pullBody(image, source, { has, value }), common),
  },
  tag: {
    words: [1, 2],
    run: (invocation, call, image, [tag, pack]) => work(invocation, call, image, withParams('tag', { tag, pack })),
  },
  untag: {
    words: [1, 1],
    run: (invocation, call, image, [tag]) => work(invocation, call, image, withParams('tag', { tag, remove: '' })),
  },
  rollback: {
    words: [0, 1],
    run: (invocation, call, image, [pack]) => work(invocation, call, image, withParams('rollback', { pack })),
  },
} satisfies Readonly<Record<string, Action>>;

export const image = musterCommand({
  usage: `Usage: muster image build IMAGE [--if-changed]
       muster image exec [--network] IMAGE PROGRAM [ARGUMENT...]
       muster image shell [--network] IMAGE
       muster image pull [--kernel IMAGE] [OPTIONS] IMAGE REGISTRY/NAME:TAG|FILE
       muster image tag IMAGE TAG [PACK]
       muster image untag IMAGE TAG
       muster image rollback IMAGE [PACK|TAG]

build builds and packs an image. exec runs a program in a copy of the image, which takes its place if the program ends well. shell does
that with each line that you type: a line that fails changes nothing, and each line begins in the directory /. pull makes an image of a
container in a registry, or in a file of the management node (NAME.oci, NAME.oci.tar or NAME.docker.tar); its options stand before the
image, and table passwd has the login. tag names the pack in use, or another; muster keeps packs with a tag. rollback puts the pack
before the one in use back, or the one that you name. lsimage shows the packs.`,
  options: {
    'if-changed': flag('of build: pack only if packages, lists or files have changed'),
    network: flag('of exec and shell: the programs may use the network'),
    kernel: filled('IMAGE', 'of pull: take kernel and modules of this image'),
    arch: filled('ARCH', 'of pull: the architecture, if it is not that of the management node'),
    osvers: filled('OS', 'of pull: the operating system, if the container does not say it'),
    profile: filled('PROFILE', 'of pull: the profile, if it is not the name of the image'),
    container: filled('NAME', 'of pull: which container of a file with several'),
    force: flag('of pull: make the image again, even if the container is the same'),
  },
  operands: [2, Number.POSITIVE_INFINITY, wrongCall],
  // What follows the program belongs to it.
  rules: { optionsEndAt: 3 },
  common: longWorking,
  async run(invocation, call) {
    const [word = '', name = '', ...words] = call.operands;
    const action: Action | undefined = Object.hasOwn(actions, word) ? actions[word as keyof typeof actions] : undefined;
    if (!action || words.length < action.words[0] || words.length > action.words[1]) throw new UsageError(wrongCall);
    for (const option of ['if-changed', 'network', ...actions.pull.options])
      if (call.has(option) && !action.options?.includes(option))
        throw new UsageError(`--${option} means nothing to image ${word}.`);
    if (action.staysAttached && call.common.detach)
      throw new UsageError(
        `image ${word} is more than one run and cannot be left; genimage and packimage take --detach.`,
      );
    return (await action.run(invocation, call, name, words)) ? 0 : 1;
  },
});

/** For whoever looks for it there, at three in the morning. */
export const rollback = musterCommand({
  usage: `Usage: muster rollback IMAGE [PACK|TAG]

The same as muster image rollback: puts the pack before the one in use back, or the one that you name by its id or a tag. Nodes get it at
their next boot. lsimage shows the packs.`,
  options: {},
  operands: [1, 2, 'Say which image, and which of its packs if it is not the one before.'],
  common: longWorking,
  async run(invocation, call) {
    const [name = '', ...words] = call.operands;
    return (await actions.rollback.run(invocation, call, name, words)) ? 0 : 1;
  },
});

const work = (invocation: Invocation, { common }: Call, name: string, body: object): Promise<boolean> =>
  longWork(invocation, path('osimages', name, 'instance'), body, common);

const withParams = (action: string, params: Readonly<Record<string, string | undefined>>): object => ({
  action,
  params: Object.entries(params).flatMap(([key, value]) => (value === undefined ? [] : [{ [key]: value }])),
});

/** A file ends as the server knows them; anything else is in a registry. */
function pullBody(name: string, source: string, { has, value }: Given): object {
  const params = ['kernel', 'arch', 'osvers', 'profile'].flatMap((option) => {
    const given = value(option);
    return given === undefined ? [] : [{ [option]: given }];
  });
  const container = value('container');
  if (container !== undefined) params.push({ image: container });
  if (has('force')) params.push({ force: '' });
  const isFile = /\.(oci|docker)(\.tar)?\/?$/.test(source);
  return { name, ...(isFile ? { file: resolve(source) } : { oci: source }), ...(params.length > 0 ? { params } : {}) };
}

interface Given {
  has(option: string): boolean;
  value(option: string): string | undefined;
}

const runBody = (call: Call, command: readonly string[]): object => ({
  action: 'run',
  command,
  ...(call.flag('network') ? { params: [{ network: '' }] } : {}),
});

/** Whether the last line ended well, as of any shell. */
async function shell(invocation: Invocation, call: Call, name: string): Promise<boolean> {
  const { stdin, stdout, terminal } = invocation;
  const prompt = async (): Promise<void> => {
    await stdout.flush();
    if (terminal.stdin && terminal.stdout) process.stdout.write(`${name}:/# `);
  };
  let ok = true;
  await prompt();
  for await (const line of stdin.lines()) {
    if (line.trim() === 'exit') break;
    if (line.trim() !== '') ok = await work(invocation, call, name, runBody(call, ['/bin/sh', '-c', line]));
    await prompt();
  }
  return ok;
}
