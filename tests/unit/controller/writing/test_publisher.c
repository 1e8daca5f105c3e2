/* Patches that are denied, and those that are no longer wanted. Linked with --wrap=clock_gettime.
 */
#include "tests/unit/fixture/api_fixture.h"

#include "controller/writing/publisher.h"

enum { DENIED_IN_A_ROW = 16, DENIED_PAUSE_MS = 5000, JOBS = DENIED_IN_A_ROW + 1 };

struct fixture {
        struct api_fixture api;
        struct publisher *publisher, *lender;
        struct publisher_job jobs[JOBS];
        size_t done, expected, turns;
};

static bool on_turn(void *userdata, struct publisher_job *job, struct buf *patch) {
        ((struct fixture *)userdata)->turns++;
        return buf_puts(patch, "{}");
}

static void on_done(void *userdata, struct publisher_job *job, const struct kube_answer *answer) {
        ((struct fixture *)userdata)->done++;
}

static void begin_at(struct fixture *f, double patches_per_s, double lent_per_s) {
        api_start(&f->api);
        if (lent_per_s > 0)
                f->lender = publisher_new(&(struct publisher_options){
                        .daemon = &f->api.daemon, .patches_per_s = lent_per_s, .max_in_flight = 1});
        f->publisher = publisher_new(&(struct publisher_options){.what = "test",
                                                                 .daemon = &f->api.daemon,
                                                                 .patches_per_s = patches_per_s,
                                                                 .lender = f->lender,
                                                                 .max_in_flight = 1,
                                                                 .on_turn = on_turn,
                                                                 .on_done = on_done,
                                                                 .userdata = f});
        for (size_t i = 0; i < JOBS; i++) {
                publisher_add(f->publisher, &f->jobs[i], "a");
                publisher_push(&f->jobs[i], 0);
        }
}

static void begin(struct fixture *f) {
        begin_at(f, 1000, 0);
}

static void end(struct fixture *f) {
        publisher_free(f->publisher);
        if (f->lender)
                publisher_free(f->lender);
        api_stop(&f->api);
}

static bool is_idle(void *userdata) {
        return publisher_is_idle(((struct fixture *)userdata)->publisher);
}

static bool is_patched(void *userdata) {
        struct fixture *f = userdata;

        return f->done == f->expected;
}

static bool is_denied(void *userdata) {
        return ((struct fixture *)userdata)->done == DENIED_IN_A_ROW;
}

/* Denials in a row are about the account: there is a pause, and then one more attempt. */
TEST(denied) {
        struct fixture f = {0};

        for (size_t i = 0; i < DENIED_IN_A_ROW; i++)
                api_answer(&f.api, 403, "{\"message\":\"no\"}", "PATCH /api/v1/nodes/a?", NULL);
        api_answer(&f.api, 200, "{}", "PATCH /api/v1/nodes/a?", NULL);
        begin(&f);
        api_run(&f.api, is_denied, &f);
        assert_string_equal(f.publisher->trouble,
                            "the last 16 patches failed: forbidden: 403 no; see the RBAC rule for "
                            "patching nodes");
        api_run_quiet(&f.api);
        assert_int_equal(f.turns, DENIED_IN_A_ROW);
        later_ms += DENIED_PAUSE_MS;
        api_run(&f.api, is_idle, &f);
        assert_int_equal(f.done, JOBS);
        assert_string_equal(f.publisher->trouble, "");
        end(&f);
}

/* What failed is forgotten when no node needs the patch any more: nothing may succeed for long. */
TEST(unwanted) {
        struct fixture f = {0};

        for (size_t i = 0; i < DENIED_IN_A_ROW; i++)
                api_answer(&f.api, 403, "{\"message\":\"no\"}", "PATCH /api/v1/nodes/a?", NULL);
        begin(&f);
        api_run(&f.api, is_denied, &f);
        for (size_t i = 0; i < DENIED_IN_A_ROW; i++) {
                assert_string_not_equal(f.publisher->trouble, "");
                publisher_unwanted(&f.jobs[i]);
        }
        assert_string_equal(f.publisher->trouble, "");
        assert_int_equal(f.publisher->outages.failing, 0);
        assert_int_equal(f.publisher->failed, 0);
        publisher_cancel_all(f.publisher);
        end(&f);
}

/* Whether it waits or is being sent, a job that is cancelled is idle, and has no event. */
TEST(cancelled) {
        struct fixture f = {0};

        api_answer(&f.api, 200, "{}", "PATCH /api/v1/nodes/a?", NULL);
        f.api.rig.server.script[0].holds = true;
        free(f.api.rig.server.script[0].response);
        f.api.rig.server.script[0].response = NULL;
        begin(&f);
        api_run(&f.api, api_is_served, &f.api);
        for (size_t i = 0; i < JOBS; i++) {
                assert_int_equal(f.jobs[i].call != NULL, i == 0);
                assert_int_equal(f.jobs[i].place.is_queued, i > 0);
                publisher_cancel(&f.jobs[i]);
                publisher_cancel(&f.jobs[i]);
                assert_false(f.jobs[i].call || f.jobs[i].place.is_queued);
        }
        assert_true(publisher_is_idle(f.publisher));
        api_run_quiet(&f.api);
        assert_int_equal(f.turns, 1);
        assert_int_equal(f.done, 0);
        end(&f);
}

/* A publisher with next to no rate of its own sends by its lender's: not while a job waits there,
 * nor the last that the lender may send. */
TEST(lender) {
        static const double never_per_s = 0.001;
        static const struct {
                double lent_per_s;
                bool is_waiting;
                size_t sent;
        } rows[] = {{10000, false, JOBS}, {10000, true, 1}, {never_per_s, false, 1}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {.expected = rows[i].sent};
                struct publisher_job waiting = {0};
                for (size_t k = 0; k < rows[i].sent; k++)
                        api_answer(&f.api, 200, "{}", "PATCH /api/v1/nodes/a?", NULL);
                begin_at(&f, never_per_s, rows[i].lent_per_s);
                if (rows[i].is_waiting)
                        patch_queue_put(&f.lender->queue, &waiting.place, 0);
                api_run(&f.api, is_patched, &f);
                api_run_quiet(&f.api);
                assert_int_equal(f.done, rows[i].sent);
                patch_queue_drop(&f.lender->queue, &waiting.place);
                publisher_cancel_all(f.publisher);
                end(&f);
        }
}
