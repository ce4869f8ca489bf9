// Asks PAM for the server, in a process of its own: modules of PAM may take seconds, hang, or end the process. Not for use by hand.
import { askPam, endWithParent } from './library.ts';
import type { PamQuestion } from './messages.ts';

process.on('disconnect', () => process.exit(0));
process.on('message', (question: PamQuestion) => {
  try {
    endWithParent();
    process.send!(askPam(question));
  } catch (error) {
    process.send!({ step: 'start', code: -1, says: (error as Error).message });
  }
});
