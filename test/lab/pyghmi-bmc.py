"""A BMC of pyghmi, as VirtualBMC has it: its address, port, user name and password are the arguments."""
import sys

from pyghmi.ipmi import bmc


class Machine(bmc.Bmc):
    powered = False

    def cold_reset(self):
        print("cold reset", flush=True)
        return 0

    def get_power_state(self):
        return self.powered

    def power_on(self):
        self.powered = True

    def power_off(self):
        self.powered = False


address, port, username, password = sys.argv[1:]
machine = Machine({username: password}, port=int(port), address=address)
print("ready", flush=True)
machine.listen()
