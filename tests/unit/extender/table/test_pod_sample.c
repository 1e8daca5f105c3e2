/* Lists of single nodes' pods, against a server that answers from a script. */
#include "tests/unit/fixture/test.h"

#include "extender/table/pod_sample.h"
#include "tests/unit/fixture/scripted_fixture.h"

static void on_change(void *userdata) {
        struct fixture *f = userdata;

        (void)buf_puts(&f->log, "c");
}

static void on_usage_change(void *userdata, void *owner) {
}

/* Is it known that the node's pods request @ratio of its capacity? */
static bool knows_requests(const struct estimator *estimator, const struct estimator_node *node,
                           double ratio) {
        static const int64_t unread[ESTIMATE_RESOURCE_COUNT] = {0};
        struct estimator_usage usage;

        estimator_usage(estimator, node, unread, 0, &usage);
        return usage.is_known[ESTIMATE_CPU] && usage.ratio[ESTIMATE_CPU] == ratio;
}

/* Of which the list is answered. */
static void *answers(const struct fixture *f, const char *code) {
        return metrics_counter(f->rig.metrics, "plimsoll_api_requests_total",
                               "Requests to the API server by HTTP status or failure reason.",
                               LABELS("verb", "GET", "resource", "pods", "code", code));
}

#define POD(uid, node, phase)                                                                      \
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"" uid "\"},\"spec\":{"        \
        "\"nodeName\":\"" node "\",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":"         \
        "\"500m\"}}}]},\"status\":{\"phase\":\"" phase "\"}}"
/* Two of the node's that run or will, and what a proxy may add. */
#define PODS                                                                                       \
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},"    \
        "\"items\":[" POD("a", "n1", "Running") "," POD("b", "n1", "Pending") "," POD(             \
                "c", "n2",                                                                         \
                "Running") "," POD("d", "n10",                                                     \
                                   "Running") "," POD("e", "n1",                                   \
                                                      "Succeeded") ",{\"metadata\":{\"labels\":{"  \
                                                                   "\"\\u0061\":\"b\"}}}]}"
#define ASKED "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1%2C"

/* A list that fails is asked for again; of one that holds pods of others, as a proxy may make it,
 * the node's own count. */
TEST(lists) {
        struct fixture f = {0};
        int owner = 0;

        expect(&f, 500, ASKED, NULL, "{}");
        expect(&f, 200, ASKED, NULL, "<html>");
        expect(&f, 200, ASKED, "&resourceVersion=0 ", PODS);
        start(&f);
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(on_usage_change,
                                                                               NULL);
        struct pod_sample *samples = pod_sample_new(f.rig.loop, f.rig.api, estimator, on_change,
                                                    &f);
        pass(&f, 0); /* there is no node */
        check_log(&f, "c");
        struct estimator_node *node = estimator_node_hold(estimator, "n1", 2, &owner);
        estimator_set_capacity(node, &(struct pod_load){{1, 1}});
        pass(&f, ESTIMATOR_SAMPLE_MS - 1);
        check_log(&f, "");
        pass(&f, 1);
        run_until(&f, counted, answers(&f, "500"), 1);
        check_log(&f, "c");
        pass(&f, ESTIMATOR_SAMPLE_MS);
        run_until(&f, counted, answers(&f, "200"), 1);
        check_log(&f, "c");
        assert_false(knows_requests(estimator, node, 1));
        pass(&f, ESTIMATOR_SAMPLE_MS);
        run_until(&f, counted, answers(&f, "200"), 2);
        check_log(&f, "cc");
        assert_true(knows_requests(estimator, node, 1));
        pod_sample_free(samples);
        estimator_node_release(estimator, node);
        stop(&f);
}
