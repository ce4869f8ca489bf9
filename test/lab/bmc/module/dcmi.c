/* DCMI 1.5, group extension DCh. */
#include <string.h>
#include "labbmc.h"

enum { LOWEST_LIMIT = 50, HIGHEST_LIMIT = 1500, STANDBY_WATTS = 8 };

static unsigned watts(bmc_t *bmc)
{
    unsigned now;

    if (!is_on(bmc->mc)) return STANDBY_WATTS;
    now = bmc->idle_watts + (unsigned)(time(NULL) % 20);
    return bmc->limit.active && now > bmc->limit.watts ? bmc->limit.watts : now;
}

static void get_capabilities(unsigned char *r, unsigned int *len, unsigned char selector)
{
    static const unsigned char parameters[6][6] = {
        [1] = { 3, 0x00, 0x01, 0x07 },                   /* power management; in-band, serial over LAN, LAN */
        [2] = { 5, 1000 & 0xff, 0x80 | 1000 >> 8, 0, 0, 0 }, /* 1,000 log entries, roll over */
        [3] = { 2, 0x20, 0x00 },                         /* controller address */
        [4] = { 3, 0x01, 0xff, 0xff },                   /* channels */
        [5] = { 2, 0x01, 0x01 },                         /* one averaging period, of a second */
    };

    if (selector < 1 || selector > 5) {
        answer(r, len, 0xc9);
        return;
    }
    r[2] = 1;
    r[3] = 5;
    r[4] = 2; /* DCMI 1.5, parameter revision 2 */
    memcpy(r + 5, parameters[selector] + 1, parameters[selector][0]);
    *len = 5 + parameters[selector][0];
}

static void get_reading(bmc_t *bmc, unsigned char *r, unsigned int *len)
{
    unsigned now = watts(bmc);

    put16(r + 2, now);
    put16(r + 4, now > 10 ? now - 10 : 0);
    put16(r + 6, now + 15);
    put16(r + 8, now);
    put32(r + 10, (unsigned)time(NULL));
    put32(r + 14, 1000);
    r[18] = 0x40; /* measurement active */
    *len = 19;
}

static void get_limit(bmc_t *bmc, unsigned char *r, unsigned int *len)
{
    r[0] = bmc->limit.active ? 0x00 : 0x80; /* 80h: none is active */
    put16(r + 2, 0);
    r[4] = bmc->limit.exception;
    put16(r + 5, bmc->limit.watts);
    put32(r + 7, bmc->limit.correction_ms);
    put16(r + 11, 0);
    put16(r + 13, bmc->limit.sampling);
    *len = 15;
}

static void set_limit(bmc_t *bmc, const unsigned char *d, unsigned char *r)
{
    unsigned wanted = d[5] | d[6] << 8;

    if (wanted < LOWEST_LIMIT || wanted > HIGHEST_LIMIT) {
        r[0] = 0x84;
        return;
    }
    bmc->limit.exception = d[4];
    bmc->limit.watts = wanted;
    bmc->limit.correction_ms = get32(d + 7);
    bmc->limit.sampling = d[13] | d[14] << 8;
    note(bmc->mc, "limit", wanted);
}

/* The controller id is counted with its final zero, the asset tag without. */
static void get_text(const char *text, unsigned total, const unsigned char *d, unsigned char *r, unsigned int *len)
{
    unsigned offset = d[1], n = d[2] > 16 ? 16 : d[2];

    r[2] = total;
    if (offset > total) {
        r[0] = 0xc9;
        return;
    }
    if (offset + n > total) n = total - offset;
    memcpy(r + 3, text + offset, n);
    *len = 3 + n;
}

static void set_text(char *text, const unsigned char *d, unsigned available, unsigned char *r, unsigned int *len)
{
    unsigned offset = d[1], n = d[2] > available ? available : d[2];

    if (offset + n > 63) {
        r[0] = 0xc9;
        return;
    }
    memcpy(text + offset, d + 3, n);
    text[offset + n] = 0;
    r[2] = offset + n;
    *len = 3;
}

static void group_extension(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb)
{
    static const unsigned char least[0x11] = {
        [0x01] = 2, [0x04] = 15, [0x05] = 2, [0x06] = 3, [0x07] = 5, [0x08] = 3, [0x09] = 3, [0x0a] = 3, [0x10] = 5,
    };
    bmc_t *bmc = bmc_of(mc);
    unsigned char *d = m->data;

    r[0] = 0;
    r[1] = 0xdc;
    *len = 2;
    if (m->cmd < sizeof least && m->len < least[m->cmd]) {
        r[0] = 0xc7;
        return;
    }
    switch (m->cmd) {
    case 0x01: get_capabilities(r, len, d[1]); break;
    case 0x02: get_reading(bmc, r, len); break;
    case 0x03: get_limit(bmc, r, len); break;
    case 0x04: set_limit(bmc, d, r); break;
    case 0x05:
        bmc->limit.active = d[1] & 1;
        note(mc, "limit_on", bmc->limit.active);
        break;
    case 0x06: get_text(bmc->asset, strlen(bmc->asset), d, r, len); break;
    case 0x07: /* no sensors are named */
        put16(r + 2, 0);
        *len = 4;
        break;
    case 0x08: set_text(bmc->asset, d, m->len - 3, r, len); break;
    case 0x09: get_text(bmc->controller_id, strlen(bmc->controller_id) + 1, d, r, len); break;
    case 0x0a: set_text(bmc->controller_id, d, m->len - 3, r, len); break;
    case 0x10:
        r[2] = 1;
        r[3] = 1;
        r[4] = 22 + ipmb_of(mc) % 8;
        r[5] = 1;
        *len = 6;
        break;
    default: r[0] = 0xc1;
    }
}

void dcmi_start(void) { ipmi_emu_register_group_extension_handler(0xdc, group_extension, NULL); }
