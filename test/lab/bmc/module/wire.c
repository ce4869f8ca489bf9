/* What leaves a BMC: two defects of the stock simulator mended, and faults on demand. */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include "labbmc.h"

enum { RMCP_IPMI = 7, RMCP_PLUS = 6, OPEN_SESSION_RESPONSE = 0x11 };

typedef struct {
    lanserv_data_t *lan;
    void *to;
    int to_len;
    ipmi_timer_t *timer;
    struct iovec packet;
} held_t;

extern ipmi_payload_handler_cb payload_handlers[64];
static ipmi_payload_handler_cb stock_ipmi;
static void (*stock_send)(lanserv_data_t *lan, struct iovec *v, int n, void *to, int to_len);

void send_sessionless(lanserv_data_t *lan, msg_t *m, unsigned char type, unsigned char *data, unsigned n)
{
    unsigned char head[16] = { 6, 0, 0xff, RMCP_IPMI, RMCP_PLUS, type };
    struct iovec v[2] = { { head, sizeof head }, { data, n } };

    put16(head + 14, n);
    lan->send_out(lan, v, 2, m->src_addr, m->src_len);
}

static void release(void *cb)
{
    held_t *held = cb;

    stock_send(held->lan, &held->packet, 1, held->to, held->to_len);
    simulator->free_timer(held->timer);
    free(held->packet.iov_base);
    free(held->to);
    free(held);
}

static struct iovec join(struct iovec *v, int n)
{
    struct iovec all = { NULL, 0 };
    int i;

    for (i = 0; i < n; i++) all.iov_len += v[i].iov_len;
    all.iov_base = malloc(all.iov_len);
    for (i = 0, all.iov_len = 0; i < n; i++) {
        memcpy((char *)all.iov_base + all.iov_len, v[i].iov_base, v[i].iov_len);
        all.iov_len += v[i].iov_len;
    }
    return all;
}

static void hold(lanserv_data_t *lan, struct iovec packet, void *to, int to_len, unsigned ms)
{
    struct timeval wait = { ms / 1000, ms % 1000 * 1000 };
    held_t *held = calloc(1, sizeof *held);

    held->lan = lan;
    held->packet = packet;
    held->to = malloc(to_len);
    held->to_len = to_len;
    memcpy(held->to, to, to_len);
    simulator->alloc_timer(simulator, release, held, &held->timer);
    simulator->start_timer(held->timer, &wait);
}

/* Stock 2.0.33 answers Open Session with privilege 0 when asked for the highest; freeipmi refuses that. */
static void mend_open_session(unsigned char *p, size_t n)
{
    if (n < 20 || p[3] != RMCP_IPMI || p[4] != RMCP_PLUS || (p[5] & 0x3f) != OPEN_SESSION_RESPONSE) return;
    if (p[17] == 0 && p[18] == 0) p[18] = 4;
}

static void send_out(lanserv_data_t *lan, struct iovec *v, int n, void *to, int to_len)
{
    bmc_t *bmc = bmc_of_lan(lan);
    struct iovec packet;
    size_t i;

    if (bmc->fault.loss_percent && (unsigned)(rand() % 100) < bmc->fault.loss_percent) return;
    packet = join(v, n);
    mend_open_session(packet.iov_base, packet.iov_len);
    if (bmc->fault.garbage)
        for (i = 0; i < packet.iov_len; i++) ((unsigned char *)packet.iov_base)[i] = rand();
    if (bmc->fault.delay_ms) {
        hold(lan, packet, to, to_len, bmc->fault.delay_ms);
        return;
    }
    stock_send(lan, &packet, 1, to, to_len);
    free(packet.iov_base);
}

static unsigned char checksum(const unsigned char *p, int n)
{
    unsigned sum = 0;

    while (n--) sum += *p++;
    return -sum;
}

/* Stock 2.0.33 leaves Get Channel Cipher Suites unanswered when it comes in RMCP+ form before a session. */
static void ipmi_payload(lanserv_data_t *lan, msg_t *m)
{
    static const unsigned char suites[] = { 0xc0, 3, 1, 0x41, 0x81, 0xc0, 17, 3, 0x44, 0x81 };
    unsigned char d[32], *q = m->data;
    unsigned n = 0, offset;

    if (m->sid != 0 || m->len < 10 || q[1] >> 2 != 6 || q[5] != 0x54) {
        stock_ipmi(lan, m);
        return;
    }
    d[0] = q[3];
    d[1] = 7 << 2 | (q[4] & 3);
    d[2] = checksum(d, 2);
    d[3] = q[0];
    d[4] = (q[4] & 0xfc) | (q[1] & 3);
    d[5] = 0x54;
    d[6] = 0;
    d[7] = 1;
    offset = (q[8] & 0x3f) * 16;
    if (offset < sizeof suites) {
        n = sizeof suites - offset;
        memcpy(d + 8, suites + offset, n);
    }
    d[8 + n] = checksum(d + 3, 5 + n);
    send_sessionless(lan, m, 0x00, d, 9 + n);
}

void wire_attach(bmc_t *bmc)
{
    stock_send = bmc->lan->send_out;
    bmc->lan->send_out = send_out;
}

void wire_start(void)
{
    stock_ipmi = payload_handlers[0];
    payload_handlers[0] = ipmi_payload;
}
