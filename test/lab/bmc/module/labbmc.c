/* Entry points of the module and its console commands. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "labbmc.h"

/* In ipmi_sim itself, declared in no public header. */
extern int ipmi_emu_handle_msg(emu_data_t *emu, lmc_data_t *mc, msg_t *msg, unsigned char *r, unsigned int *len);

sys_data_t *simulator;
options_t options;
static bmc_t bmcs[256];

unsigned char ipmb_of(lmc_data_t *mc) { return simulator->mc_get_ipmb(mc); }

/* As it is when the process starts. Sessions stay. */
static void begin(bmc_t *bmc, lmc_data_t *mc, lanserv_data_t *lan)
{
    unsigned char ipmb = ipmb_of(mc);

    memset(bmc, 0, sizeof *bmc);
    bmc->mc = mc;
    bmc->lan = lan;
    bmc->idle_watts = 90 + ipmb * 7 % 60;
    bmc->limit.watts = 500;
    bmc->limit.correction_ms = 1000;
    bmc->limit.sampling = 1;
    bmc->fault.delay_ms = options.delay_ms;
    bmc->fault.loss_percent = options.loss_percent;
    snprintf(bmc->asset, sizeof bmc->asset, "LAB-ASSET-%s-%02x", simulator->name, ipmb);
    snprintf(bmc->controller_id, sizeof bmc->controller_id, "%s-%02x", simulator->name, ipmb);
    lan_begin(bmc);
}

bmc_t *bmc_of(lmc_data_t *mc)
{
    bmc_t *bmc = &bmcs[ipmb_of(mc)];

    if (!bmc->mc) begin(bmc, mc, NULL);
    return bmc;
}

bmc_t *bmc_of_lan(lanserv_data_t *lan) { return bmc_of(lan->channel.mc); }

void note(lmc_data_t *mc, const char *key, long value)
{
    FILE *f;

    if (!options.statefile[0] || !(f = fopen(options.statefile, "a"))) return;
    fprintf(f, "%02x %s=%ld\n", ipmb_of(mc), key, value);
    fclose(f);
}

void put16(unsigned char *p, unsigned value)
{
    p[0] = value;
    p[1] = value >> 8;
}

void put32(unsigned char *p, unsigned value)
{
    put16(p, value);
    put16(p + 2, value >> 16);
}

unsigned get32(const unsigned char *p) { return p[0] | p[1] << 8 | p[2] << 16 | (unsigned)p[3] << 24; }

void answer(unsigned char *r, unsigned int *len, unsigned char code)
{
    r[0] = code;
    *len = 1;
}

static int internal_command(emu_data_t *emu, lmc_data_t *mc, int netfn, int command, unsigned char *data, unsigned n)
{
    unsigned char r[64];
    unsigned int len = sizeof r;
    msg_t m;

    memset(&m, 0, sizeof m);
    m.netfn = netfn;
    m.cmd = command;
    m.data = data;
    m.len = n;
    ipmi_emu_handle_msg(emu, mc, &m, r, &len);
    return r[0];
}

/*
 * lab_ready MC: for an enabled MC. Its events go to its own log, where they would go to that of the first MC of the process, and
 * its clock is set, so that entries made until now have times since the start of the BMC and later ones have real times.
 */
static int make_ready(emu_out_t *out, emu_data_t *emu, lmc_data_t *mc, char **toks)
{
    unsigned char receiver[2] = { ipmb_of(mc), 0 }, now[4];

    put32(now, (unsigned)time(NULL));
    return internal_command(emu, mc, 0x04, 0x00, receiver, sizeof receiver) /* Set Event Receiver */
        || internal_command(emu, mc, 0x0a, 0x49, now, sizeof now);          /* Set SEL Time */
}

/* lab_fault MC delay MS | loss PERCENT | garbage 0|1 | refuse17 0|1 | dropSettings 0|1 | forget 1 */
static int set_fault(emu_out_t *out, emu_data_t *emu, lmc_data_t *mc, char **toks)
{
    const char *name = mystrtok(NULL, " \t\n", toks), *text = mystrtok(NULL, " \t\n", toks);
    bmc_t *bmc = bmc_of(mc);
    unsigned value;

    if (!name || !text) return EINVAL;
    value = strtoul(text, NULL, 10);
    if (!strcmp(name, "delay")) bmc->fault.delay_ms = value;
    else if (!strcmp(name, "loss")) bmc->fault.loss_percent = value;
    else if (!strcmp(name, "garbage")) bmc->fault.garbage = value;
    else if (!strcmp(name, "refuse17")) bmc->fault.refuse_suite17 = value;
    else if (!strcmp(name, "dropSettings")) bmc->fault.drop_settings = value;
    else if (!strcmp(name, "forget") && bmc->lan) forget_sessions(bmc->lan);
    else return EINVAL;
    return 0;
}

/* lab_reset MC: what this module keeps is as at the start. The event log, and addresses that were set, stay. */
static int reset_bmc(emu_out_t *out, emu_data_t *emu, lmc_data_t *mc, char **toks)
{
    begin(bmc_of(mc), mc, bmc_of(mc)->lan);
    return 0;
}

/* lab_sessions MC: prints how many sessions are open, and how many of them with suite 17. */
static int print_sessions(emu_out_t *out, emu_data_t *emu, lmc_data_t *mc, char **toks)
{
    lanserv_data_t *lan = bmc_of(mc)->lan;

    out->eprintf(out, "sessions=%d suite17=%d\n", lan ? open_sessions(lan, 0) : 0, lan ? open_sessions(lan, 1) : 0);
    return 0;
}

static void read_text(const char *text, const char *key, char *value)
{
    const char *p = strstr(text, key);

    if (p) sscanf(p + strlen(key), "%511s", value);
}

static unsigned read_number(const char *text, const char *key)
{
    const char *p = strstr(text, key);

    return p ? strtoul(p + strlen(key), NULL, 10) : 0;
}

int ipmi_sim_module_print_version(sys_data_t *sys, char *text)
{
    printf("labbmc 2\n");
    return 0;
}

int ipmi_sim_module_init(sys_data_t *sys, const char *text)
{
    simulator = sys;
    if (text) {
        read_text(text, "statefile=", options.statefile);
        read_text(text, "bootnow=", options.bootnow);
        read_text(text, "qmp=", options.qmp);
        options.vm = read_number(text, "vm=");
        options.refuse_suite0 = read_number(text, "no0=");
        options.delay_ms = read_number(text, "delay=");
        options.loss_percent = read_number(text, "loss=");
    }
    chassis_start();
    dcmi_start();
    suite17_start();
    wire_start();
    ipmi_emu_add_cmd("lab_ready", MC, make_ready);
    ipmi_emu_add_cmd("lab_fault", MC, set_fault);
    ipmi_emu_add_cmd("lab_reset", MC, reset_bmc);
    ipmi_emu_add_cmd("lab_sessions", MC, print_sessions);
    return 0;
}

int ipmi_sim_module_post_init(sys_data_t *sys)
{
    int i;

    for (i = 0; i < 256; i++) {
        lmc_data_t *mc = sys->ipmb_addrs[i];
        channel_t **channels;
        if (!mc) continue;
        channels = sys->mc_get_channelset(mc);
        if (channels && channels[1] && channels[1]->medium_type == 4 /* 802.3 LAN */) {
            bmc_of(mc)->lan = channels[1]->chan_info;
            wire_attach(bmc_of(mc));
            lan_attach(bmc_of(mc));
        }
        chassis_attach(mc);
    }
    return 0;
}
