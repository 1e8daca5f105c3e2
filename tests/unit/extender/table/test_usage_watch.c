/* What workloads were measured to use, from the ConfigMaps of a server that answers from a script.
 */
#include "tests/unit/fixture/test.h"

#include "extender/table/usage_watch.h"
#include "tests/unit/fixture/scripted_fixture.h"

#define LINE(name, cores) name " pods=2 request=1/1000000 mean=" cores "/1000000 spread=0.1/0"
#define CONFIG_MAP(name, shards, lines)                                                            \
        "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"kube-system\",\"uid\":\"" name       \
        "\",\"resourceVersion\":\"11\"},\"data\":{" shards "\"workloads\":\"" lines "\"}}"
#define SHARDS(count) "\"shards\":\"" count "\","
#define LIST(item)                                                                                 \
        "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"     \
        "\"10\"},\"items\":[" item "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define FIRST "fieldSelector=metadata.name%3Dplimsoll-workloads&"
#define SECOND "fieldSelector=metadata.name%3Dplimsoll-workloads-1&"

static void on_usage_change(void *userdata, void *owner) {
}

static double workloads_of(void *estimator) {
        struct estimator_stats stats;

        estimator_stats(estimator, 0, &stats);
        return (double)stats.workloads;
}

static double cores_of(struct estimator *estimator, const char *workload) {
        return estimator_expect(estimator, workload, strlen(workload), &(struct pod_load){{9, 9}})
                .load.of[ESTIMATE_CPU];
}

static void add_usual(struct fixture *f, const char *selector, const char *what, char *response,
                      bool waits, bool holds) {
        scripted_add_usual(&f->rig.server,
                           (struct scripted_reply){.expect = {"/namespaces/kube-system/configmaps?",
                                                              selector, what},
                                                   .response = response,
                                                   .before = waits ? wait_for_test : NULL,
                                                   .holds = holds});
}

/* The first says that there is a second; when it no longer does, what that one had is measured no
 * longer. Of lines that cannot be read the others count. */
TEST(shards) {
        struct fixture f = {0};
        static const char fewer[] =
                EVENT("MODIFIED",
                      CONFIG_MAP("plimsoll-workloads", SHARDS("1"),
                                 LINE("d/Job/a", "0.5") "\\nd/Job/x mean=\\n" LINE("d/Job/c", "4")))
                        EVENT("DELETED", CONFIG_MAP("plimsoll-workloads", "", ""));

        add_usual(&f, FIRST, "limit=",
                  scripted_http(200, "",
                                LIST(CONFIG_MAP("plimsoll-workloads", SHARDS("2"),
                                                LINE("d/Job/a", "0.25") "\\n"))),
                  false, false);
        add_usual(&f, FIRST, "watch=1", scripted_stream(fewer), true, true);
        add_usual(&f, SECOND, "limit=",
                  scripted_http(200, "",
                                LIST(CONFIG_MAP("plimsoll-workloads-1", "",
                                                LINE("d/Job/b", "2") "\\n" LINE("d/Job/d", "3")))),
                  false, false);
        add_usual(&f, SECOND, "watch=1", scripted_stream(""), false, true);
        start(&f);
        const struct daemon daemon = {
                .loop = f.rig.loop, .api = f.rig.api, .metrics = f.rig.metrics};
        struct estimator *estimator = estimator_new(on_usage_change, NULL);
        struct usage_watch *watch = usage_watch_new(&daemon, estimator, "kube-system");
        run_until(&f, workloads_of, estimator, 3);
        assert_true(cores_of(estimator, "d/Job/a") == 0.25);
        assert_true(cores_of(estimator, "d/Job/b") == 2);
        assert_int_equal(sem_post(&f.go_on), 0);
        run_until(&f, workloads_of, estimator, 0); /* deleted, after all */
        usage_watch_free(watch);
        usage_watch_free(NULL);
        estimator_free(estimator);
        stop(&f);
}
