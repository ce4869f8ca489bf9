// The process of the simulated Redfish services: answers the lab's questions on its channel and ends with it.
import { type Fleet, startFleet } from './fleet.ts';
import type { Answer, Question } from './protocol.ts';

let fleet: Fleet | undefined;

async function ask(question: Question): Promise<unknown> {
  if (question.ask === 'start') {
    fleet = await startFleet(question.options);
    return undefined;
  }
  if (!fleet) throw new Error('The services have not been started.');
  switch (question.ask) {
    case 'state':
      return fleet.state(question.index);
    case 'openSessions':
      return fleet.openSessions();
    case 'fingerprint':
      return fleet.fingerprint(question.index);
    case 'fault':
      return fleet.fault(question.index, question.faults);
    case 'subscribe':
      return fleet.subscribe(question.index, question.destination);
    case 'report':
      return fleet.report(question.index, question.event, question.raw);
    case 'log':
      return fleet.log(question.index, question.message, question.severity);
  }
}

process.on('message', (question: Question) => {
  const reply = (answer: Answer): boolean => process.send!(answer);
  ask(question).then(
    (value) => reply({ id: question.id, value }),
    (error: Error) => reply({ id: question.id, error: error.message }),
  );
});
process.once('disconnect', () => process.exit(0));
