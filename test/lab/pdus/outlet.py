"""A variation module for snmpsim: outlets that are switched by one object and seen at another.

Records have the value pdu=NAME,outlet=N,role=state|control,on=X,off=Y. What outlets are is in files of a directory, so that tests
see and change it: NAME.N has on or off, NAME.N.stuck makes it stay, NAME.wait has seconds before an order shows, NAME.log every order.
"""
import os
import threading

from snmpsim.grammar.snmprec import SnmprecGrammar
from snmpsim.record.snmprec import SnmprecRecord


def init(**context):
    moduleContext['directory'] = context['options']


def path(name):
    return os.path.join(moduleContext['directory'], name)


def read(name, otherwise):
    try:
        with open(path(name)) as file:
            return file.read().strip()
    except IOError:
        return otherwise


def write(name, text, mode='w'):
    with open(path(name), mode) as file:
        file.write(text)


def switch(outlet, to):
    # Never seen half written.
    write(outlet + '.next', to)
    os.rename(path(outlet + '.next'), path(outlet))


def variate(oid, tag, value, **context):
    if not context['nextFlag'] and not context['exactMatch']:
        return context['origOid'], tag, context['errorStatus']
    given = dict(part.split('=') for part in value.split(','))
    pdu, outlet = given['pdu'], given['pdu'] + '.' + given['outlet']
    kind = SnmprecGrammar.tagMap[SnmprecRecord.unpackTag(tag)[0]]()
    if context['setFlag']:
        number = int(context['origValue'])
        to = 'on' if number == int(given['on']) else 'off' if number == int(given['off']) else None
        write(pdu + '.log', '%s %s\n' % (given['outlet'], to), 'a')
        if to and not os.path.exists(path(outlet + '.stuck')):
            threading.Timer(float(read(pdu + '.wait', '0.05')), switch, (outlet, to)).start()
        return oid, tag, kind.clone(number)
    if given['role'] == 'control':
        return oid, tag, kind.clone(int(given['on']))
    return oid, tag, kind.clone(int(given[read(outlet, 'on')]))


def shutdown(**context):
    pass
