/* Patches that are denied, and those that are no longer wanted. Linked with --wrap=clock_gettime.
 */
#include "tests/unit/fixture/api_fixture.h"

#include "controller/writing/publisher.h"

enum { DENIED_IN_A_ROW = 16, DENIED_PAUSE_MS = 5000, JOBS = DENIED_IN_A_ROW + 1, FEW = 5 };
enum { FIRST_PER_OTHER = 10 };

#define OF_NODE "PATCH /api/v1/nodes/a?"
#define OF_STATUS "PATCH /api/v1/nodes/a/status?"

struct fixture {
        struct api_fixture api;
        struct publisher *publisher;
        struct patch_kind *kind, *others; /* others: behind it */
        struct publisher_job jobs[JOBS], other_jobs[JOBS];
        size_t done, expected, composed;
        char order[2 * JOBS + 1]; /* of what was sent: n of nodes, s of their status */
};

/* Of the test that runs. */
static struct fixture *running;

static bool compose(struct publisher_job *job, struct buf *patch) {
        struct fixture *f = running;

        f->order[f->composed++] = job->is_of_status ? 's' : 'n';
        return buf_puts(patch, "{}");
}

static void on_done(struct publisher_job *job, enum patch_outcome outcome) {
        running->done++;
}

static void begin_at(struct fixture *f, double patches_per_s) {
        const struct patch_kind_options options = {.what = "test",
                                                   .max_in_flight = 1,
                                                   .max_retry_ms = 1000,
                                                   .compose = compose,
                                                   .on_done = on_done};

        running = f;
        api_start(&f->api);
        f->publisher = publisher_new(&(struct publisher_options){.daemon = &f->api.daemon,
                                                                 .patches_per_s = patches_per_s});
        f->kind = publisher_add_kind(f->publisher, &options);
        f->others = publisher_add_kind(f->publisher, &options);
        for (size_t i = 0; i < JOBS; i++) {
                publisher_add(f->kind, &f->jobs[i], "a");
                publisher_add(f->others, &f->other_jobs[i], "a");
                f->other_jobs[i].is_of_status = true;
        }
}

static void push(struct publisher_job *jobs, size_t count) {
        for (size_t i = 0; i < count; i++)
                publisher_push(&jobs[i], 0);
}

static void begin(struct fixture *f) {
        begin_at(f, 1000);
        push(f->jobs, JOBS);
}

static void end(struct fixture *f) {
        publisher_cancel_all(f->publisher);
        publisher_free(f->publisher);
        api_stop(&f->api);
}

static void answer(struct fixture *f, size_t count, int status, const char *path) {
        for (size_t i = 0; i < count; i++)
                api_answer(&f->api, status, "{\"message\":\"no\"}", path, NULL);
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
        _cleanup_(end) struct fixture f = {0};

        answer(&f, 2, 401, OF_NODE); /* the credentials are read again */
        answer(&f, DENIED_IN_A_ROW - 1, 403, OF_NODE);
        answer(&f, 1, 200, OF_NODE);
        begin(&f);
        api_run(&f.api, is_denied, &f);
        assert_string_equal(f.kind->failures.trouble,
                            "the last 16 patches failed: forbidden: 403 no; see the RBAC rule for "
                            "patching nodes");
        api_run_quiet(&f.api);
        assert_int_equal(f.composed, DENIED_IN_A_ROW);
        later_ms += DENIED_PAUSE_MS;
        api_run(&f.api, is_idle, &f);
        assert_int_equal(f.done, JOBS);
        assert_string_equal(f.kind->failures.trouble, "");
}

/* What failed is forgotten when no node needs the patch any more: nothing may succeed for long. */
TEST(unwanted) {
        _cleanup_(end) struct fixture f = {0};

        answer(&f, DENIED_IN_A_ROW, 403, OF_NODE);
        begin(&f);
        api_run(&f.api, is_denied, &f);
        for (size_t i = 0; i < DENIED_IN_A_ROW; i++) {
                assert_string_not_equal(f.kind->failures.trouble, "");
                publisher_unwanted(&f.jobs[i]);
        }
        assert_string_equal(f.kind->failures.trouble, "");
        assert_int_equal(f.kind->failures.outages.failing, 0);
        assert_int_equal(f.kind->failures.failures_in_a_row, 0);
}

/* Whether it waits or is being sent, a job that is cancelled is idle, and has no event. */
TEST(cancelled) {
        _cleanup_(end) struct fixture f = {0};

        scripted_add(&f.api.rig.server,
                     (struct scripted_reply){.expect = {OF_NODE}, .holds = true});
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
        assert_int_equal(f.composed, 1);
        assert_int_equal(f.done, 0);
}

/* RBAC lacks the rule for one kind: the others are written all the same. */
TEST(denied_of_one_kind) {
        _cleanup_(end) struct fixture f = {.expected = DENIED_IN_A_ROW};

        answer(&f, DENIED_IN_A_ROW, 403, OF_STATUS);
        answer(&f, FEW, 200, OF_NODE);
        begin_at(&f, 1000);
        push(f.other_jobs, JOBS);
        api_run(&f.api, is_patched, &f);
        assert_string_equal(publisher_trouble(f.publisher),
                            "the last 16 patches failed: forbidden: 403 no; see the RBAC rule for "
                            "patching nodes/status");
        push(f.jobs, FEW);
        f.expected += FEW;
        api_run(&f.api, is_patched, &f);
        assert_int_equal(f.others->queue.len, 1);
        assert_string_equal(f.kind->failures.trouble, "");
}

/* The first kind goes first, though it was pushed last; but after ten of its patches, one of
 * another kind goes before the next. */
TEST(order_of_kinds) {
        _cleanup_(end) struct fixture f = {.expected = JOBS + FEW};

        api_answer_usually(&f.api, 200, "{}", "PATCH");
        begin_at(&f, 1);
        f.api.pace_ms = 100;
        push(f.other_jobs, FEW);
        push(f.jobs, JOBS);
        api_run(&f.api, is_patched, &f);
        assert_string_equal(f.order, "nnnnnnnnnnsnnnnnnnssss");
}
