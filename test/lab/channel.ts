import { join } from 'node:path';
import { type LabChild, startChild } from './child.ts';
import type { Namespace } from './netns.ts';

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A lab process in TypeScript that answers questions on its channel. */
export interface Channel {
  readonly child: LabChild;
  ask(question: object): Promise<unknown>;
}

export function openChannel(program: string, directory: string, name: string, namespace?: Namespace): Channel {
  const words = [process.execPath, program] as const;
  const [file, ...args] = namespace?.command(...words) ?? words;
  const child = startChild(file, args, {
    directory,
    logFile: join(directory, `${name}.log`),
    channel: true,
  });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let asked = 0;
  child.process.on('message', ({ id, value, error }: Answer) => {
    const waiter = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) waiter?.resolve(value);
    else waiter?.reject(new Error(error));
  });
  const fail = (): void => {
    for (const { reject } of waiting.values()) reject(new Error(`The lab process ${name} has ended: ${child.log()}`));
    waiting.clear();
  };
  child.process.once('exit', fail);
  child.process.once('error', fail);
  return {
    child,
    ask: (question) =>
      new Promise((resolve, reject) => {
        const id = ++asked;
        waiting.set(id, { resolve, reject });
        child.process.send({ ...question, id }, (error) => {
          if (error && waiting.delete(id)) reject(error);
        });
      }),
  };
}
