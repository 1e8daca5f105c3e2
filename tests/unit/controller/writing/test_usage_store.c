/* What is read from and written to ConfigMaps, and when. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"

#include "controller/writing/usage_store.h"

enum { INTERVAL_MS = 60000, MANY = 1500 };
#define MAPS "/api/v1/namespaces/plimsoll/configmaps"
#define READ(name) "GET " MAPS "/" name "?fieldManager=plimsoll-controller HTTP/1.1\r\n"
#define WRITE(name) "PATCH " MAPS "/" name "?fieldManager=plimsoll-controller HTTP/1.1\r\n"
#define CREATE "POST " MAPS "?fieldManager=plimsoll-controller HTTP/1.1\r\n"
#define NOT_FOUND 404, "{}"

struct fixture {
        struct api_fixture api;
        struct workload_meter meter;
        struct usage_store *store;
};

static const struct kube_fence no_fence = {0};

static void start(struct fixture *f) {
        api_start(&f->api);
        f->store = usage_store_new(&(struct usage_store_options){.daemon = &f->api.daemon,
                                                                 .namespace = "plimsoll",
                                                                 .meter = &f->meter,
                                                                 .interval_ms = INTERVAL_MS});
        usage_store_tick(f->store); /* a standby does nothing */
        usage_store_set_writer(f->store, &no_fence);
}

static void stop(struct fixture *f) {
        usage_store_free(f->store);
        workload_meter_done(&f->meter);
        api_stop(&f->api);
}

/* Ticks until the script is used up, and a little longer. */
static void run(struct fixture *f) {
        for (int i = 0; i < 3; i++) {
                usage_store_tick(f->store);
                api_run(&f->api, api_is_served, &f->api);
                api_run_quiet(&f->api);
        }
}

/* The next round. */
static void run_later(struct fixture *f) {
        api_wait_ms(&f->api, INTERVAL_MS);
        run(f);
}

static struct metered_workload *use(struct fixture *f, const char *name, double cores) {
        struct pod_meter pod = {0};
        struct metered_workload *workload = workload_meter_join(
                &f->meter, name, strlen(name), &(struct pod_load){{0.1, 1e8}}, false);

        for (int i = 0; i < 30; i++)
                workload_meter_add(workload, &pod, &(struct pod_load){{cores, 1e8}}, 120,
                                   loop_now_unix_ms(f->api.rig.loop));
        return workload;
}

TEST(written_when_moved) {
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, NOT_FOUND, READ("plimsoll-workloads"), NULL);
        start(&f);
        run(&f);
        use(&f, "n/Job/a", 1);
        (void)workload_meter_join(&f.meter, "n/Job/new", 9, &(struct pod_load){{0.1, 1e8}}, false);
        api_answer(&f.api, NOT_FOUND, WRITE("plimsoll-workloads"), "n/Job/a pods=1 ");
        api_answer(&f.api, 201, "{}", CREATE,
                   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                   "\"plimsoll-workloads\",\"labels\":{\"app.kubernetes.io/part-of\":"
                   "\"plimsoll\"}},\"data\":{\"shards\":\"1\",\"workloads\":\"n/Job/a pods=1 ");
        run_later(&f);
        run_later(&f); /* nothing has moved */
        use(&f, "n/Job/a", 1.05);
        run_later(&f);
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads"), "n/Job/a pods=3 ");
        use(&f, "n/Job/a", 2);
        run_later(&f);
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads"), "n/Job/b ");
        use(&f, "n/Job/b", 0.0001);
        run_later(&f);
        /* From time to time in any case, for histograms and times. */
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads"), NULL);
        api_wait_ms(&f.api, STORE_KEPT_MS);
        run(&f);
        assert_string_equal(usage_store_trouble(f.store), "");
}

TEST(read_at_first) {
        _cleanup_(stop) struct fixture f = {0};
        struct pod_load mean;

        api_answer(&f.api, 200,
                   "{\"data\":{\"shards\":\"2\",\"workloads\":\"n/Job/a mean=1/2 since="
                   "2026-11-29T07:00:00Z seen=2026-11-29T09:00:00Z\\nbroken\\nn/Job/b mean=3/4 "
                   "since=2026-11-29T07:00:00Z seen=2026-11-29T09:00:00Z\\n\"}}",
                   READ("plimsoll-workloads"), NULL);
        api_answer(&f.api, 200, "{\"data\":{\"shards\":\"9\"}}", READ("plimsoll-workloads-1"),
                   NULL);
        start(&f);
        run(&f);
        assert_int_equal(f.meter.workloads.len, 2);
        assert_true(workload_meter_mean(strmap_get(&f.meter.workloads, "n/Job/b", 7), &mean));
        assert_true(mean.of[ESTIMATE_CPU] == 3);
        /* There are still two. */
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads"), "\"shards\":\"2\"");
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads-1"), "\"shards\":\"2\"");
        run_later(&f);
}

/* What cannot be read is not overwritten; what cannot be written is tried again. */
TEST(refused) {
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, 403, "{\"message\":\"no\"}", READ("plimsoll-workloads"), NULL);
        start(&f);
        run(&f);
        assert_string_equal(usage_store_trouble(f.store), "reading: 403 no");
        api_answer(&f.api, 200, "not JSON", READ("plimsoll-workloads"), NULL);
        run_later(&f);
        assert_string_equal(usage_store_trouble(f.store), "");
        api_answer(&f.api, 422, "{\"message\":\"odd\"}", WRITE("plimsoll-workloads"), NULL);
        run_later(&f);
        assert_non_null(strstr(usage_store_trouble(f.store), "writing: "));
        api_answer(&f.api, NOT_FOUND, WRITE("plimsoll-workloads"), NULL);
        api_answer(&f.api, 404, "{\"message\":\"no namespace\"}", CREATE, NULL);
        run_later(&f);
        assert_string_equal(usage_store_trouble(f.store), "writing: 404 no namespace");
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads"), NULL);
        run_later(&f);
        assert_string_equal(usage_store_trouble(f.store), "");
        usage_store_set_writer(f.store, NULL);
        use(&f, "n/Job/a", 1);
        run_later(&f);
        /* A new term reads again. */
        usage_store_set_writer(f.store, &no_fence);
        api_answer(&f.api, NOT_FOUND, READ("plimsoll-workloads"), NULL);
        run(&f);
}

/* Many workloads are divided, and stay where they are. */
TEST(many) {
        _cleanup_(stop) struct fixture f = {0};
        char name[32];

        api_answer(&f.api, NOT_FOUND, READ("plimsoll-workloads"), NULL);
        start(&f);
        run(&f);
        for (int i = 0; i < MANY; i++) {
                (void)snprintf(name, sizeof(name), "n/Job/%d", i);
                use(&f, name, 1);
        }
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads"), "\"shards\":\"2\"");
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads-1"), "\"shards\":\"2\"");
        run_later(&f);
        assert_int_equal(workload_usage_shard("n/Job/7", 7, 2), 1);
        api_answer(&f.api, 200, "{}", WRITE("plimsoll-workloads-1"), NULL);
        use(&f, "n/Job/7", 2);
        run_later(&f);
}
