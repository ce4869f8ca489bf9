/* Chassis commands, IPMI 2.0 section 28. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "labbmc.h"

enum { BOOT_FLAGS = 5, LAST_BOOT_PARAMETER = 7, BOOT_NETWORK = 1 };
enum { FLAGS_VALID = 0x80, FLAGS_PERSISTENT = 0x40, FLAGS_EFI = 0x20 };

static int hardware(lmc_data_t *mc, unsigned operation)
{
    channel_t **channels = simulator->mc_get_channelset(mc), *system = channels ? channels[15] : NULL;

    if (options.vm && system && system->hw_op) system->hw_op(system, operation);
    return 0;
}

int is_on(lmc_data_t *mc)
{
    startcmd_t *machine;

    if (!options.vm) return bmc_of(mc)->power;
    machine = simulator->mc_get_startcmdinfo(mc);
    return machine && machine->vmpid != 0;
}

/* A start tells the machine its boot device and uses up boot flags that are not persistent. Answers the device. */
static int use_boot_flags(lmc_data_t *mc)
{
    static const char *names[16] = { "none", "pxe", "disk", "safe", "diag", "cdrom", "bios", [15] = "floppy" };
    unsigned char *flags = bmc_of(mc)->boot[BOOT_FLAGS];
    int device = flags[0] & FLAGS_VALID ? flags[1] >> 2 & 0x0f : 0;
    FILE *f;

    if (options.bootnow[0] && (f = fopen(options.bootnow, "w"))) {
        fprintf(f, "%s%s\n", names[device] ? names[device] : "none", flags[0] & FLAGS_EFI ? " efi" : "");
        fclose(f);
    }
    if ((flags[0] & FLAGS_VALID) && !(flags[0] & FLAGS_PERSISTENT)) {
        memset(flags, 0, 5);
        note(mc, "bootused", device);
    }
    return device;
}

static void set_power(lmc_data_t *mc, int on)
{
    bmc_t *bmc = bmc_of(mc);

    note(mc, "power", on);
    if (on && !is_on(mc)) {
        use_boot_flags(mc);
        bmc->on_since = time(NULL);
    }
    hardware(mc, on ? HW_OP_POWERON : HW_OP_POWEROFF);
    bmc->power = on;
}

static void reset(lmc_data_t *mc)
{
    int device;

    note(mc, "reset", 1);
    device = use_boot_flags(mc);
    /* Machines of some architectures have no BMC inside that could reset them. */
    if (!options.qmp[0]) hardware(mc, HW_OP_RESET);
    else if (qmp_reset(options.qmp, device == BOOT_NETWORK)) note(mc, "qmpfailed", 1);
}

static void identify(lmc_data_t *mc, unsigned seconds, int forced)
{
    bmc_of(mc)->identify_until = time(NULL) + seconds;
    bmc_of(mc)->identify_forced = forced;
    note(mc, "identify", forced ? 999 : (long)seconds);
}

static int control_set(lmc_data_t *mc, int operation, unsigned char *value, void *cb)
{
    switch (operation) {
    case CHASSIS_CONTROL_POWER:
        set_power(mc, *value);
        return 0;
    case CHASSIS_CONTROL_RESET:
        if (!is_on(mc)) return EINVAL;
        reset(mc);
        return 0;
    case CHASSIS_CONTROL_GRACEFUL_SHUTDOWN:
        note(mc, "soft", 1);
        if (options.vm) hardware(mc, HW_OP_GRACEFUL_SHUTDOWN);
        else set_power(mc, 0);
        return 0;
    case CHASSIS_CONTROL_IDENTIFY:
        identify(mc, value[0], value[1]);
        return 0;
    default: /* boot info acknowledge and the like */
        return 0;
    }
}

static int control_get(lmc_data_t *mc, int operation, unsigned char *value, void *cb)
{
    if (operation != CHASSIS_CONTROL_POWER) return EINVAL;
    *value = is_on(mc);
    return 0;
}

static void get_capabilities(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    static const unsigned char reply[6] = { 0x00, 0x00, 0x20, 0x20, 0x20, 0x20 };

    memcpy(r, reply, *len = sizeof reply);
}

static void get_status(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    bmc_t *bmc = bmc_of(mc);
    int identifying = bmc->identify_forced ? 2 : bmc->identify_until > time(NULL);

    r[0] = 0;
    r[1] = (is_on(mc) ? 1 : 0) | bmc->policy << 5;
    r[2] = 0;
    r[3] = 0x40 /* identify state is told */ | identifying << 4;
    *len = 4;
}

/* Stock 2.0.33 forgets the length of the answer. */
static void chassis_identify(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    identify(mc, m->len > 0 ? m->data[0] : 15, m->len > 1 ? m->data[1] & 1 : 0);
    answer(r, len, 0);
}

static void set_restore_policy(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    if (m->len < 1) {
        answer(r, len, 0xc7);
        return;
    }
    if ((m->data[0] & 7) < 3) {
        bmc_of(mc)->policy = m->data[0] & 7;
        note(mc, "policy", m->data[0] & 7);
    }
    r[0] = 0;
    r[1] = 7;
    *len = 2;
}

/* The whole parameter is kept, so that get answers what set stored. */
static void set_boot_options(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    unsigned parameter;

    if (m->len < 1 || m->len > 17) {
        answer(r, len, 0xc7);
        return;
    }
    parameter = m->data[0] & 0x7f;
    if (parameter > LAST_BOOT_PARAMETER) {
        answer(r, len, 0x80);
        return;
    }
    memset(bmc_of(mc)->boot[parameter], 0, 17);
    memcpy(bmc_of(mc)->boot[parameter], m->data + 1, m->len - 1);
    if (parameter == BOOT_FLAGS && m->len >= 3) note(mc, "bootflags", m->data[1] << 8 | m->data[2]);
    answer(r, len, 0);
}

static void get_boot_options(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    static const unsigned char lengths[LAST_BOOT_PARAMETER + 1] = { 1, 1, 1, 1, 2, 5, 1, 16 };
    unsigned parameter;

    if (m->len < 3) {
        answer(r, len, 0xc7);
        return;
    }
    parameter = m->data[0] & 0x7f;
    if (parameter > LAST_BOOT_PARAMETER) {
        answer(r, len, 0x80);
        return;
    }
    r[0] = 0;
    r[1] = 1;
    r[2] = parameter;
    memcpy(r + 3, bmc_of(mc)->boot[parameter], lengths[parameter]);
    *len = 3 + lengths[parameter];
}

static void get_power_on_hours(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    bmc_t *bmc = bmc_of(mc);

    r[0] = 0;
    r[1] = 60; /* minutes per count */
    put32(r + 2, 1000 + ipmb_of(mc) + (bmc->on_since ? (time(NULL) - bmc->on_since) / 3600 : 0));
    *len = 6;
}

static void get_self_test(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    r[0] = 0;
    r[1] = 0x55; /* no error */
    r[2] = 0;
    *len = 3;
}

void chassis_attach(lmc_data_t *mc) { ipmi_mc_set_chassis_control_func(mc, control_set, control_get, NULL); }

void chassis_start(void)
{
    static const struct {
        unsigned char netfn, command;
        handler_t *handler;
    } commands[] = {
        { 0x00, 0x00, get_capabilities },   { 0x00, 0x01, get_status },       { 0x00, 0x04, chassis_identify },
        { 0x00, 0x06, set_restore_policy }, { 0x00, 0x08, set_boot_options }, { 0x00, 0x09, get_boot_options },
        { 0x00, 0x0f, get_power_on_hours }, { 0x06, 0x04, get_self_test },
    };
    unsigned i;

    for (i = 0; i < sizeof commands / sizeof commands[0]; i++)
        ipmi_emu_register_cmd_handler(commands[i].netfn, commands[i].command, commands[i].handler, NULL);
}
