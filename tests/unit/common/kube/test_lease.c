/* A candidate for a Lease against a server that answers from a script. Its rules have a test of
 * their own, test_lease_candidate.c. */
#include "tests/unit/fixture/test.h"

#include <semaphore.h>

#include "kube/lease.h"
#include "tests/unit/fixture/reflector_steps.h"
#include "tests/unit/fixture/rows.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/n%2Fs/leases"
#define GET "GET " LEASES "/l HTTP"
#define POST "POST " LEASES " HTTP"
#define PUT "PUT " LEASES "/l HTTP"
#define HELD                                                                                       \
        "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"%s\"},\"spec\":{"                     \
        "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,\"acquireTime\":\"t0\","            \
        "\"renewTime\":\"t%s\",\"leaseTransitions\":3}}"

/* Rows that run one after the other. */
static struct lease *lease;

static void note(struct fixture *f, const char *what) {
        (void)buf_printf(&f->log, "%s %lld;", what, (long long)(later_ms / MS_PER_S));
}

static void on_started(void *userdata) {
        assert_true(lease_is_leading(lease));
        note(userdata, "lead");
}

static void on_stopped(void *userdata) {
        assert_false(lease_is_leading(lease));
        note(userdata, "stop");
}

static void on_released(void *userdata) {
        note(userdata, "released");
}

static sem_t is_released;

static void release(struct fixture *f) {
        lease_release(lease, on_released, f);
        assert_int_equal(sem_post(&is_released), 0);
}

static void await_release(void *userdata) {
        (void)userdata;
        while (sem_wait(&is_released) < 0)
                ;
}

/* A row of a script: what is asked for, the answer, its text, and what else the request holds. */
static void add_step(struct fixture *f, char *const *cells) {
        const char *method = cells[0], *answer = cells[1];
        bool is_late = strncmp(answer, "late ", 5) == 0,
             is_held = *cells[2] && strchr("mo-", *cells[2]);
        int status = atoi(answer + (is_late ? 5 : 0));
        char *version = cells[2];
        const char *holder = is_held ? strsep(&version, " ") : "";
        _cleanup_(freep) char *held = xasprintf(HELD, version, *holder == '-' ? "" : holder,
                                                version);

        scripted_add(
                &f->rig.server,
                (struct scripted_reply){
                        .expect = {*method == 'G'     ? GET
                                   : method[1] == 'O' ? POST
                                                      : PUT,
                                   cells[3], cells[4]},
                        .response = status ? scripted_http(status, "", is_held ? held : cells[2])
                                           : xstrdup(""),
                        .before = is_late ? await_release : NULL,
                        .holds = true});
}

/* From the first request to the last, which takes away the beginning of every later one. */
static void elect(struct fixture *f, const struct clock_step *clock) {
        assert_int_equal(sem_init(&is_released, 0, 0), 0);
        start_stepped(f);
        lease = lease_new(f->rig.loop, f->rig.api, f->rig.metrics,
                          &(struct lease_options){.namespace = "n/s",
                                                  .name = "l",
                                                  .identity = "me",
                                                  .timing = LEASE_TIMING_DEFAULT,
                                                  .events = {on_started, on_stopped, f}});
        run_stepped(f, clock);
}

/* Of a script's last row. */
static void check(char *const *cells) {
        const char *log = cells[1], *leader = cells[3], *trouble = cells[4];
        bool is_over = strstr(log, "released"), leads = strstr(log, "lead") && !strstr(log, "stop");

        assert_int_equal(lease_is_leading(lease), leads);
        assert_string_equal(lease_identity(lease), "me");
        if (is_over)
                return;
        assert_int_equal(lease_is_settled(lease), strcmp(trouble, "bad_answer") != 0);
        if (*leader)
                assert_string_equal(lease_leader(lease), leader);
        assert_non_null(strstr(lease_trouble(lease), trouble));
        assert_int_equal(*lease_trouble(lease) != '\0', *trouble != '\0');
}

TEST(scripts) {
        struct fixture f = {0};

        for (struct rows rows = rows_open("lease-scripts.tsv"); rows_next(&rows);) {
                struct clock_step clock[8] = {0};

                if (strcmp(rows.cells[0], "then") != 0) {
                        add_step(&f, rows.cells);
                        continue;
                }
                f.name = rows.place;
                f.wanted_log = rows.cells[1];
                read_clock(rows.cells[2], clock, release);
                elect(&f, clock);
                check(rows.cells);
                assert_true(metrics_value(lease_leader_gauge(f.rig.metrics)) ==
                            lease_is_leading(lease));
                lease_free(lease);
                stop(&f);
                memset(&f, 0, sizeof(f));
        }
}

TEST(identity) {
        _cleanup_(freep) char *one = lease_identity_new(), *two = lease_identity_new();

        assert_string_not_equal(one, two);
        assert_true(strlen(strrchr(one, '_')) == 17); /* of 16 random digits */
}
