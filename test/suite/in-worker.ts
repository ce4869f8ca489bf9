// Runs in the process of each file of tests, before the file: notes who it is, what it costs, and what servers said when a test failed.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { outputs } from '../harness/kept-output.ts';
import { noteOf } from './hung.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Seconds of processors that the file has used. */
    cpu?: number;
    /** What servers had written when the test failed, the end of it. */
    outputs?: readonly string[];
  }
}

/** Seconds of this process and of the children that it has waited for; proc(5) has the fields. */
function processorSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ').slice(11, 15);
  return fields.reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
}

const before = processorSeconds();

// oxlint-disable-next-line no-empty-pattern -- vitest reads there which fixtures a hook wants
beforeAll(({}, { file }) => {
  const note = noteOf(file.projectName ?? '', file.filepath);
  if (note !== undefined) writeFileSync(note, `${process.pid}`);
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') task.meta.outputs = outputs();
});

// oxlint-disable-next-line no-empty-pattern
afterAll(({}, { file }) => {
  file.meta.cpu = processorSeconds() - before;
});
