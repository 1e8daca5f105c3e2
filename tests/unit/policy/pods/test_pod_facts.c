/* What is read of a Pod, by example and of random pods. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdarg.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/strmap.h"
#include "base/timestamp.h"
#include "kube/kube_proto.h"
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/full_size.h"
#include "tests/unit/fixture/pod_property.h"

#define GIB (1024.0 * 1024 * 1024)
#define RESOURCES(cpu, memory)                                                                     \
        "\"resources\":{\"limits\":{\"cpu\":\"64\"},\"requests\":{\"cpu\":\"" cpu                  \
        "\",\"memory\":\"" memory "\"}}"
#define CONTAINER(cpu, memory) "{\"name\":\"c\"," RESOURCES(cpu, memory) "}"
#define SIDECAR(cpu, memory) "{" RESOURCES(cpu, memory) ",\"restartPolicy\":\"Always\"}"

/* What is no text outlives the text that it was read from. */
_printf_(3, 4) static void read_row(struct pod_facts *ret, size_t row, const char *format, ...) {
        _cleanup_(freep) char *text = NULL;
        va_list args;

        va_start(args, format);
        assert_true(vasprintf(&text, format, args) >= 0);
        va_end(args);
        if (!pod_read(ret, text))
                fail_msg("row %zu is not read: %s", row, text);
}

TEST(whole_pod) {
        static const char text[] =
                "{\"metadata\":{\"name\":\"web-7d9c5b-x2x7k\",\"namespace\":\"shop\",\"uid\":\"u-"
                "1\","
                "\"creationTimestamp\":\"2026-07-23T11:00:00Z\",\"labels\":{\"app\":\"web\","
                "\"pod-template-hash\":\"7d9c5b\"},\"ownerReferences\":[{\"apiVersion\":\"apps/"
                "v1\","
                "\"kind\":\"ReplicaSet\",\"name\":\"web-7d9c5b\",\"controller\":true}],"
                "\"managedFields\":[{\"fieldsV1\":{\"f:spec\":{\"f:nodeName\":{}}}}]},"
                "\"spec\":{\"containers\":[" CONTAINER(
                        "250m",
                        "1Gi") "],\"nodeName\":\"node-1\"},"
                               "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
                               "\"Ready\","
                               "\"status\":\"True\",\"lastTransitionTime\":\"2026-07-23T11:00:"
                               "09Z\"},{\"type\":"
                               "\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":"
                               "\"2026-07-23T11:00:05Z\"}],\"containerStatuses\":[{\"name\":"
                               "\"c\",\"state\":{\"running\":{\"startedAt\":"
                               "\"2026-07-23T11:00:08Z\"}}}]}}";
        struct pod_facts facts;
        int64_t bound_unix_ms = 0;

        assert_true(timestamp_parse("2026-07-23T11:00:05Z", 20, &bound_unix_ms));
        assert_true(pod_read(&facts, text));
        assert_true(facts.id == strmap_hash("u-1", 3));
        assert_true(skim_is(&facts.uid, "u-1"));
        assert_true(skim_is(&facts.node, "node-1"));
        assert_true(skim_is(&facts.namespace, "shop"));
        assert_true(skim_is(&facts.name, "web-7d9c5b-x2x7k"));
        assert_false(facts.is_daemonset);
        assert_false(facts.is_mirror);
        assert_int_equal(facts.workload_len, strlen("shop/ReplicaSet/web"));
        assert_memory_equal(facts.workload, "shop/ReplicaSet/web", facts.workload_len);
        assert_true(facts.request.of[ESTIMATE_CPU] == 0.25);
        assert_true(facts.request.of[ESTIMATE_MEM] == GIB);
        assert_true(facts.bound_unix_ms == bound_unix_ms);
        assert_true(facts.runs_unix_ms == bound_unix_ms + 3000);
        assert_false(facts.is_finished);
}

/* Sums as in kube-scheduler: the table of KEP-753 and its neighbours. */
TEST(requests) {
        static const struct {
                const char *spec;
                double cores, bytes;
        } rows[] = {
                {"", 0, 0},
                {"\"containers\":null", 0, 0},
                {"\"containers\":[{},{\"resources\":{}},{\"resources\":{\"requests\":null}}]", 0,
                 0},
                {"\"containers\":[" CONTAINER("1", "1Gi") "," CONTAINER("500m", "512Mi") "]", 1.5,
                 1.5 * GIB},
                /* limits are no requests */
                {"\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"4\"}}}]", 0, 0},
                /* an init container counts when it is larger than all that follows */
                {"\"containers\":[" CONTAINER("1", "2Gi") "],\"initContainers\":[" CONTAINER(
                         "3", "1Gi") "," CONTAINER("2", "1Gi") "]",
                 3, 2 * GIB},
                /* sidecars stay: 1 + 2 */
                {"\"containers\":[" CONTAINER("1", "1Gi") "],\"initContainers\":[" SIDECAR(
                         "2", "1Gi") "]",
                 3, 2 * GIB},
                /* the init container next to the sidecar that was started before it: 2 + 5 */
                {"\"initContainers\":[" SIDECAR("2", "1Gi") "," CONTAINER(
                         "5", "1Gi") "],\"containers\":[" CONTAINER("1", "1Gi") "]",
                 7, 2 * GIB},
                /* the sidecar that is started after it is not next to it: 1 + 2 or 5 */
                {"\"containers\":[" CONTAINER("1", "1Gi") "],\"initContainers\":[" CONTAINER(
                         "5", "1Gi") "," SIDECAR("2", "1Gi") "]",
                 5, 2 * GIB},
                /* for each resource by itself */
                {"\"containers\":[" CONTAINER("4", "1Gi") "],\"initContainers\":[" CONTAINER(
                         "1", "8Gi") "]",
                 4, 8 * GIB},
                /* a container of the app may say restartPolicy too; that makes it no sidecar */
                {"\"containers\":[" SIDECAR("1", "1Gi") "],\"initContainers\":[" CONTAINER(
                         "3", "1Gi") "]",
                 3, GIB},
                {"\"containers\":[" CONTAINER("1", "1Gi") "],\"overhead\":{\"cpu\":\"250m\","
                                                          "\"memory\":\"1Gi\"}",
                 1.25, 2 * GIB},
                /* what the pod requests itself, of either resource, stands for the sum */
                {"\"containers\":[" CONTAINER("1", "1Gi") "]," RESOURCES("6", "4Gi"), 6, 4 * GIB},
                {"\"resources\":{\"requests\":{\"cpu\":\"500m\"}},\"overhead\":{\"cpu\":\"1\"},"
                 "\"containers\":[" CONTAINER("1", "1Gi") "]",
                 1.5, GIB},
                {"\"containers\":[" CONTAINER("1", "1Gi") "]," RESOURCES("0", "x"), 0, GIB},
                /* odd quantities */
                {"\"containers\":[" CONTAINER("-5", "-1Gi") "," CONTAINER("1", "1Gi") "]", 1, GIB},
                {"\"containers\":[" CONTAINER("", "Gi") "," CONTAINER("NaN", "inf") "]", 0, 0},
                {"\"containers\":[" CONTAINER("1e300", "9999999999999Ei") "]", 10000, 0x1p50},
                {"\"containers\":[" CONTAINER("9999", "1Pi") "," CONTAINER("9999", "1Pi") "]",
                 10000, 0x1p50},
                {"\"containers\":[" CONTAINER("1", "1Gi") "],\"overhead\":{\"cpu\":\"1e400\"}",
                 10000, GIB},
                {"\"overhead\":{\"cpu\":\"-1e400\",\"memory\":\"-0\"}", 0, 0},
                {"\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2,\"memory\":[1]}}}]", 0,
                 0},
                {"\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"\\u0031\"}}}]", 0, 0},
                /* the last one counts */
                {"\"containers\":[" CONTAINER("1", "1Gi") "],\"containers\":[" CONTAINER("2",
                                                                                         "2Gi") "]",
                 2, 2 * GIB},
                {"\"containers\":[{" RESOURCES("1", "1Gi") ",\"resources\":null}]", 0, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                read_row(&facts, i, "{\"spec\":{%s}}", rows[i].spec);
                if (facts.request.of[ESTIMATE_CPU] != rows[i].cores ||
                    facts.request.of[ESTIMATE_MEM] != rows[i].bytes)
                        fail_msg("row %zu: %g cores, %g bytes", i, facts.request.of[ESTIMATE_CPU],
                                 facts.request.of[ESTIMATE_MEM]);
        }
}

/* Thousandths of a CPU, summed up like CPU. */
TEST(idle_cpu) {
        static const struct {
                const char *spec;
                double idle_cores, cores;
        } rows[] = {
#define IDLE(amount) "{\"resources\":{\"requests\":{\"" KUBE_IDLE_RESOURCE "\":\"" amount "\"}}}"
                {"\"containers\":[" CONTAINER("1", "1Gi") "]", 0, 1},
                {"\"containers\":[" IDLE("2k") "]", 2, 0},
                {"\"containers\":[" IDLE("500") "," CONTAINER("1", "1Gi") "," IDLE("1500") "]", 2,
                 1},
                {"\"containers\":[" IDLE("500") "],\"initContainers\":[" IDLE("3000") "]", 3, 0},
                {"\"containers\":[" IDLE("-5") "," IDLE("x") "]", 0, 0},
                {"\"containers\":[" IDLE("1e300") "]", POD_FACTS_CORES_MAX, 0},
#undef IDLE
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                read_row(&facts, i, "{\"spec\":{%s}}", rows[i].spec);
                assert_float_equal(facts.idle_cores, rows[i].idle_cores, 0);
                assert_float_equal(facts.request.of[ESTIMATE_CPU], rows[i].cores, 0);
        }
}

#define CPU(amount) "{\"cpu\":\"" amount "\"}"
#define ALLOCATED(cpu) "\"allocatedResources\":" CPU(cpu)
#define ACTUATED(cpu) "\"resources\":{\"requests\":" CPU(cpu) "}"
#define STATUSES(list) "\"containerStatuses\":[" list "]"
#define PENDING(reason)                                                                            \
        "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"" reason  \
        "\"}]"
#define CLAIMS(list) "\"nodeAllocatableResourceClaimStatuses\":[" list "]"

/* In place: two containers of 1 and 2 cores, or a pod that says 4 itself. */
TEST(resized_requests) {
        static const char containers[] = "\"containers\":[" CONTAINER("1", "1Gi") "," CONTAINER(
                "2", "1Gi") "]";
        static const char own[] = "\"resources\":{\"requests\":" CPU("4") "}";
        static const struct {
                const char *spec, *status;
                double cores;
        } rows[] = {
                {containers, STATUSES("{" ALLOCATED("1") "},{" ALLOCATED("2") "}"), 3},
                /* on its way down: given, then in effect, is still more */
                {containers, STATUSES("{" ALLOCATED("3") "},{" ALLOCATED("2") "}"), 5},
                {containers,
                 STATUSES("{" ALLOCATED("1") "," ACTUATED("4") "},{" ALLOCATED("2") "}"), 6},
                /* on its way up, unless it will never be */
                {containers, STATUSES("{" ALLOCATED("1") "},{" ALLOCATED("500m") "}"), 3},
                {containers,
                 PENDING("Deferred") "," STATUSES("{" ALLOCATED("1") "},{" ALLOCATED("1") "}"), 3},
                {containers,
                 PENDING("Infeasible") "," STATUSES("{" ALLOCATED("1") "},{" ALLOCATED("1") "}"),
                 2},
                {containers, PENDING("Infeasible"), 3},
                /* of one container nothing is known */
                {containers, STATUSES("{" ALLOCATED("9") "},{" ACTUATED("9") "}"), 3},
                {containers, STATUSES("{" ALLOCATED("9") "},{" ALLOCATED("x") "},7,null"), 3},
                /* one that requests nothing is given nothing */
                {"\"containers\":[{}," CONTAINER("2", "1Gi") "]",
                 STATUSES("{},{" ALLOCATED("3") "}"), 3},
                /* a sum of the pod's is of containers, unless it says itself what it requests */
                {containers, ALLOCATED("9") "," ACTUATED("9"), 3},
                {own, ALLOCATED("5") "," ACTUATED("2"), 5},
                {own, ALLOCATED("3") "," ACTUATED("6"), 6},
                {own, ALLOCATED("2") "," ACTUATED("2"), 4},
                {own, ALLOCATED("2") "," ACTUATED("2") "," PENDING("Infeasible"), 2},
                {own, ALLOCATED("9"), 4},
                {own, STATUSES("{" ALLOCATED("9") "}"), 4},
                /* devices: in addition to what containers request, but not to what the pod says */
                {containers,
                 CLAIMS("{\"mapping\":[{\"name\":\"cpu\",\"quantity\":\"2\"},{\"name\":"
                        "\"memory\",\"quantity\":\"1Gi\"}]}"),
                 5},
                {containers,
                 CLAIMS("{\"overhead\":[{\"name\":\"cpu\",\"perPod\":\"100m\","
                        "\"perContainer\":\"200m\"}],\"containers\":[\"a\",\"b\"]},7,{}"),
                 3.5},
                {containers,
                 CLAIMS("{\"overhead\":[{\"name\":\"cpu\",\"perContainer\":\"1e400\"}]}"), 3},
                {own, CLAIMS("{\"mapping\":[{\"name\":\"cpu\",\"quantity\":\"2\"}]}"), 4},
                {"", CLAIMS("{\"mapping\":[{\"name\":\"cpu\",\"quantity\":\"1e400\"}]}"), 10000},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                read_row(&facts, i, "{\"spec\":{%s},\"status\":{%s}}", rows[i].spec,
                         rows[i].status);
                if (fabs(facts.request.of[ESTIMATE_CPU] - rows[i].cores) > 1e-9)
                        fail_msg("row %zu: %g cores", i, facts.request.of[ESTIMATE_CPU]);
        }
}

#define SCHEDULED(status, time)                                                                    \
        "\"status\":{\"conditions\":[{\"status\":\"" status                                        \
        "\",\"type\":\"PodScheduled\",\"lastTransitionTime\":\"" time "\"}]}"
#define CREATED(time) "\"metadata\":{\"creationTimestamp\":\"" time "\"}"

TEST(times_and_phases) {
        static const struct {
                const char *pod;
                int64_t bound_unix_ms;
                bool is_finished;
        } rows[] = {
                {"", 0, false},
                {CREATED("1970-01-01T00:00:07Z"), 7000, false},
                {CREATED("1970-01-01T00:00:07Z") "," SCHEDULED("True", "1970-01-01T00:00:09Z"),
                 9000, false},
                {SCHEDULED("True", "1970-01-01T00:00:09Z") "," CREATED("1970-01-01T00:00:07Z"),
                 9000, false},
                {CREATED("1970-01-01T00:00:07Z") "," SCHEDULED("False", "1970-01-01T00:00:09Z"),
                 7000, false},
                {CREATED("1970-01-01T00:00:07Z") "," SCHEDULED("True", "yesterday"), 7000, false},
                {CREATED("1969-01-01T00:00:07Z"), 0, false},
                {CREATED("now") "," SCHEDULED("True", ""), 0, false},
                {"\"status\":{\"phase\":\"Succeeded\"}", 0, true},
                {"\"status\":{\"phase\":\"Failed\"}", 0, true},
                {"\"status\":{\"phase\":\"Running\"}", 0, false},
                {"\"status\":{\"phase\":[\"Failed\"]}", 0, false},
                {"\"status\":{\"phase\":\"Failed\"},\"status\":{}", 0, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                read_row(&facts, i, "{%s}", rows[i].pod);
                if (facts.bound_unix_ms != rows[i].bound_unix_ms ||
                    facts.is_finished != rows[i].is_finished)
                        fail_msg("row %zu: bound at %lld", i, (long long)facts.bound_unix_ms);
        }
}

#define REFUSED(status, reason)                                                                    \
        "{\"type\":\"PodScheduled\",\"status\":\"" status "\",\"reason\":\"" reason                \
        "\",\"message\":\"0/3 nodes are available: \\\"a\\\" \\u2026\"}"

TEST(retry) {
        static const struct {
                const char *conditions;
                bool is_retry;
        } rows[] = {
                {"", false},
                {REFUSED("False", "Unschedulable"), true},
                {REFUSED("False", "SchedulerError"), true},
                {REFUSED("True", ""), false},
                /* Its gates are gone, and no scheduler has tried it yet. */
                {REFUSED("False", "SchedulingGated"), false},
                {"{\"type\":\"PodScheduled\",\"status\":\"False\"}", true},
                {"{\"type\":\"Ready\",\"status\":\"False\"}", false},
                {"{\"type\":\"Ready\",\"status\":\"False\"}," REFUSED("False", "Unschedulable"),
                 true},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                read_row(&facts, i, "{\"status\":{\"conditions\":[%s]}}", rows[i].conditions);
                if (facts.is_retry != rows[i].is_retry)
                        fail_msg("row %zu", i);
        }
}

#define WAITS "{\"state\":{\"waiting\":{\"reason\":\"ImagePull\"}}}"
#define SINCE(second) "{\"state\":{\"running\":{\"startedAt\":\"1970-01-01T00:00:" second "Z\"}}}"
#define STARTED(phase, containers)                                                                 \
        "\"status\":{\"phase\":\"" phase "\",\"containerStatuses\":[" containers "]}"

/* The first container that runs counts; init containers are in another list. */
TEST(starts) {
        static const struct {
                const char *status;
                double runs_s; /* 7: since it was created; 0: not yet */
        } rows[] = {
                {"\"status\":{}", 0},
                {STARTED("Pending", ""), 0},
                {STARTED("Pending", WAITS), 0},
                {STARTED("Running", SINCE("09")), 9},
                {STARTED("Running", SINCE("30") "," SINCE("20") "," WAITS "," SINCE("40")), 20},
                {STARTED("Pending", WAITS "," SINCE("20")), 20},
                /* It has died, and waits to be started again. */
                {STARTED("Running", WAITS), 7},
                {STARTED("Running", "{\"state\":{\"running\":{\"startedAt\":\"soon\"}}}"), 7},
                {STARTED("Running", "{\"state\":{\"running\":null}},{\"state\":[7]},null"), 7},
                {"\"status\":{\"phase\":\"Running\"}", 7},
                {"\"status\":{\"phase\":\"Running\"},\"metadata\":{}", 0.001}, /* ever since */
                {"\"status\":{\"initContainerStatuses\":[" SINCE("20") "]}", 0},
                {"\"status\":{\"containerStatuses\":[" SINCE("20") "],\"containerStatuses\":["
                                                                   "]}",
                 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                read_row(&facts, i, "{" CREATED("1970-01-01T00:00:07Z") ",%s}", rows[i].status);
                if ((double)facts.runs_unix_ms != rows[i].runs_s * 1000)
                        fail_msg("row %zu: runs since %lld", i, (long long)facts.runs_unix_ms);
        }
}

#define AFFINITY(kind, terms) "\"affinity\":{\"" kind "\":{" terms "}}"
#define PREFERRED(list) "\"preferredDuringSchedulingIgnoredDuringExecution\":[" list "]"
#define REQUIRED(list) "\"requiredDuringSchedulingIgnoredDuringExecution\":" list
#define SPREAD(list) "\"topologySpreadConstraints\":[" list "]"
#define CONSTRAINT(when) "{\"maxSkew\":1,\"whenUnsatisfiable\":\"" when "\"}"

TEST(preferences) {
        static const struct {
                const char *spec;
                bool has_any;
        } rows[] = {
                {"", false},
                {AFFINITY("nodeAffinity", PREFERRED("{\"weight\":1}")), true},
                {AFFINITY("podAffinity", PREFERRED("{}")), true},
                {AFFINITY("podAntiAffinity", REQUIRED("[{}],") PREFERRED("{},{}")), true},
                {AFFINITY("podAntiAffinity", PREFERRED("")), false},
                {AFFINITY("nodeAffinity", REQUIRED("{\"nodeSelectorTerms\":[{}]}")), false},
                {AFFINITY("otherAffinity", PREFERRED("{}")), false},
                {"\"affinity\":null," SPREAD("null,{},{\"whenUnsatisfiable\":7}"), false},
                {SPREAD(CONSTRAINT("DoNotSchedule")), false},
                {SPREAD(CONSTRAINT("DoNotSchedule") "," CONSTRAINT("ScheduleAnyway")), true},
                /* the last one counts */
                {AFFINITY("nodeAffinity", PREFERRED("{}") "," PREFERRED("")), false},
                {AFFINITY("nodeAffinity", PREFERRED("{}")) ",\"affinity\":{}", false},
                {SPREAD(CONSTRAINT("ScheduleAnyway")) "," SPREAD(""), false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                read_row(&facts, i, "{\"spec\":{%s}}", rows[i].spec);
                if (facts.has_preferences != rows[i].has_any)
                        fail_msg("row %zu", i);
        }
}

/* Groups are told apart by namespace and name. */
TEST(group) {
        static const char *const pods[] = {
                "{\"metadata\":{\"namespace\":\"a\"},"
                "\"spec\":{\"schedulingGroup\":{\"podGroupName\":\"g\"}}}",
                "{\"metadata\":{\"namespace\":\"b\"},"
                "\"spec\":{\"schedulingGroup\":{\"podGroupName\":\"g\"}}}",
                "{\"metadata\":{\"namespace\":\"a\"},"
                "\"spec\":{\"schedulingGroup\":{\"podGroupName\":\"h\"}}}",
        };
        static const char *const none[] = {
                "{\"spec\":{}}",
                "{\"spec\":{\"schedulingGroup\":null}}",
                "{\"spec\":{\"schedulingGroup\":{\"podGroupName\":7}}}",
                "{\"spec\":{\"schedulingGroup\":{\"podGroupName\":\"\"}}}",
                "{\"spec\":{\"schedulingGroup\":[\"g\"]}}",
        };
        struct pod_facts facts[ARRAY_LEN(pods)];

        for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
                assert_true(pod_read(&facts[i], pods[i]));
                assert_true(facts[i].group_id != 0);
                for (size_t other = 0; other < i; other++)
                        assert_true(facts[i].group_id != facts[other].group_id);
        }
        assert_true(pod_read(&facts[1], pods[0]));
        assert_true(facts[0].group_id == facts[1].group_id);
        for (size_t i = 0; i < ARRAY_LEN(none); i++) {
                assert_true(pod_read(&facts[0], none[i]));
                assert_true(facts[0].group_id == 0);
        }
}

/* What is no whole number is no priority. */
TEST(priority) {
        static const struct {
                const char *pod;
                int64_t priority;
        } rows[] = {
                {"{\"spec\":{\"priority\":-7}}", -7},
                {"{\"spec\":{\"priority\":1.5}}", 0},
                {"{\"spec\":{\"priority\":\"9\"}}", 0},
                {"{\"spec\":{\"priority\":[1]}}", 0},
                {"{\"spec\":{}}", 0},
                {"{\"sp\\u0065c\":{\"priority\":7}}", 7}, /* nobody writes it so, but it is JSON */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                assert_true(pod_read(&facts, rows[i].pod));
                assert_int_equal(facts.priority, rows[i].priority);
        }
}

TEST(refused) {
        static const char *const rows[] = {
                "",
                "null",
                "[]",
                "\"pod\"",
                "{",
                "{} {}",
                "{\"spec\":}",
                "{\"spec\":{\"nodeName\":\"n\"}",
                "{\"spec\":{\"nodeName\":\"n}}",
                "{\"spec\":{\"nodeName\":tru}}",
                "{\"spec\":{\"nodeName\":\"\xff\"}}",
                "{\"metadata\":{\"name\":\"\\q\"}}",
                "{\"spec\":{\"priority\":}}",
                "{\"spec\":{\"priority\":[1}}",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_facts facts;
                if (pod_read(&facts, rows[i]))
                        fail_msg("row %zu is read", i);
        }
}

TEST(many_containers) {
        enum { CONTAINERS = 1000 };
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 20);
        struct pod_facts facts;

        (void)buf_puts(&text, "{\"spec\":{\"containers\":[");
        for (int i = 0; i < CONTAINERS; i++)
                (void)buf_printf(&text, "%s%s", i ? "," : "", CONTAINER("250m", "1Gi"));
        (void)buf_puts(&text, "]}}");
        assert_true(pod_read(&facts, text.data));
        assert_true(facts.request.of[ESTIMATE_CPU] == CONTAINERS * 0.25);
        assert_true(facts.request.of[ESTIMATE_MEM] == CONTAINERS * GIB);
}

/* Random pods: members in any order, left out, repeated, or of another type. */

#define PICK(list) (list)[draw_below(ARRAY_LEN(list))]

typedef void put_fn(struct buf *out);
struct member {
        const char *key;
        put_fn *put;
};

static void put_odd(struct buf *out) {
        static const char *const odd[] = {"null", "7",      "-1e9",       "true", "\"\"",
                                          "[]",   "[1,{}]", "{\"a\":[]}", "{}"};

        (void)buf_puts(out, PICK(odd));
}

static void put_object(struct buf *out, const struct member *members, size_t count) {
        size_t n = draw_below((unsigned)count + 3);

        (void)buf_putc(out, '{');
        for (size_t i = 0; i < n; i++) {
                const struct member *member = &members[draw_below((unsigned)count)];
                (void)buf_printf(out, "%s\"%s\":", i ? " , " : "", member->key);
                (draw_below(20) == 0 ? put_odd : member->put)(out);
        }
        (void)buf_putc(out, '}');
}

static void put_array(struct buf *out, put_fn *put) {
        (void)buf_putc(out, '[');
        for (unsigned i = 0, n = draw_below(5); i < n; i++) {
                (void)buf_puts(out, i ? "," : "");
                (draw_below(20) == 0 ? put_odd : put)(out);
        }
        (void)buf_putc(out, ']');
}

static void put_text(struct buf *out) {
        static const char *const texts[] = {"web-7d9c", "7d9c", "d", "a-12345678", "", "\xc3\xa9"};

        (void)buf_printf(out, "\"%s\"", PICK(texts));
}

static void put_time(struct buf *out) {
        (void)buf_printf(out, "\"2026-01-01T00:00:%02uZ\"", draw_below(70));
}

static void put_quantity(struct buf *out) {
        static const char *const units[] = {"", "m", "Mi", "Gi", "k", "e3", "e300", "Ei", "x"};

        (void)buf_printf(out, "\"%s%u%s\"", draw_below(10) ? "" : "-", draw_below(1000),
                         PICK(units));
}

static void put_policy(struct buf *out) {
        (void)buf_puts(out, draw_below(2) ? "\"Always\"" : "\"Never\"");
}

static void put_when(struct buf *out) {
        (void)buf_puts(out, draw_below(3) ? "\"DoNotSchedule\"" : "\"ScheduleAnyway\"");
}

static void put_type(struct buf *out) {
        static const char *const types[] = {"PodScheduled", "PodResizePending", "Ready"};

        (void)buf_printf(out, "\"%s\"", PICK(types));
}

static void put_status(struct buf *out) {
        (void)buf_puts(out, draw_below(3) ? "\"True\"" : "\"False\"");
}

static void put_reason(struct buf *out) {
        static const char *const reasons[] = {"Infeasible", "Unschedulable", "SchedulingGated"};

        (void)buf_printf(out, "\"%s\"", PICK(reasons));
}

static void put_resource(struct buf *out) {
        static const char *const names[] = {"cpu", "memory", KUBE_IDLE_RESOURCE};

        (void)buf_printf(out, "\"%s\"", PICK(names));
}

static void put_integer(struct buf *out) {
        (void)buf_printf(out, "%d", (int)draw_below(2000) - 1000);
}

static void put_phase(struct buf *out) {
        static const char *const phases[] = {"Running", "Failed", "Succeeded", "Pending"};

        (void)buf_printf(out, "\"%s\"", PICK(phases));
}

static void put_kind(struct buf *out) {
        static const char *const kinds[] = {"ReplicaSet", "Job", "DaemonSet", "TaskRun"};

        (void)buf_printf(out, "\"%s\"", PICK(kinds));
}

static void put_bool(struct buf *out) {
        (void)buf_puts(out, draw_below(2) ? "true" : "false");
}

#define DEFINE_PUT_OBJECT(name, ...)                                                               \
        static void name(struct buf *out) {                                                        \
                static const struct member members[] = {__VA_ARGS__};                              \
                put_object(out, members, ARRAY_LEN(members));                                      \
        }
#define DEFINE_PUT_ARRAY(name, of)                                                                 \
        static void name(struct buf *out) {                                                        \
                put_array(out, of);                                                                \
        }

DEFINE_PUT_OBJECT(put_requests, {"cpu", put_quantity}, {"memory", put_quantity},
                  {KUBE_IDLE_RESOURCE, put_quantity}, {"x", put_odd})
DEFINE_PUT_OBJECT(put_resources, {"requests", put_requests}, {"limits", put_requests})
DEFINE_PUT_OBJECT(put_container, {"resources", put_resources}, {"restartPolicy", put_policy},
                  {"name", put_text})
DEFINE_PUT_ARRAY(put_containers, put_container)
DEFINE_PUT_ARRAY(put_preferences, put_odd)
DEFINE_PUT_OBJECT(put_terms, {"preferredDuringSchedulingIgnoredDuringExecution", put_preferences},
                  {"requiredDuringSchedulingIgnoredDuringExecution", put_preferences})
DEFINE_PUT_OBJECT(put_affinity, {"nodeAffinity", put_terms}, {"podAffinity", put_terms},
                  {"podAntiAffinity", put_terms}, {"x", put_odd})
DEFINE_PUT_OBJECT(put_constraint, {"whenUnsatisfiable", put_when}, {"maxSkew", put_odd})
DEFINE_PUT_ARRAY(put_constraints, put_constraint)
DEFINE_PUT_OBJECT(put_group, {"podGroupName", put_text}, {"x", put_odd})
DEFINE_PUT_OBJECT(put_spec, {"schedulingGroup", put_group}, {"containers", put_containers},
                  {"initContainers", put_containers}, {"overhead", put_requests},
                  {"resources", put_resources}, {"nodeName", put_text}, {"affinity", put_affinity},
                  {"priorityClassName", put_text}, {"priority", put_integer},
                  {"topologySpreadConstraints", put_constraints})
DEFINE_PUT_OBJECT(put_owner, {"kind", put_kind}, {"name", put_text}, {"controller", put_bool})
DEFINE_PUT_ARRAY(put_owners, put_owner)
DEFINE_PUT_OBJECT(put_labels, {"pod-template-hash", put_text},
                  {"rollouts-pod-template-hash", put_text}, {"app", put_text})
DEFINE_PUT_OBJECT(put_annotations, {"kubernetes.io/config.mirror", put_text}, {"x", put_odd})
DEFINE_PUT_OBJECT(put_metadata, {"ownerReferences", put_owners}, {"labels", put_labels},
                  {"annotations", put_annotations}, {"namespace", put_text}, {"name", put_text},
                  {"uid", put_text}, {"creationTimestamp", put_time})
DEFINE_PUT_OBJECT(put_condition, {"type", put_type}, {"status", put_status}, {"reason", put_reason},
                  {"lastTransitionTime", put_time})
DEFINE_PUT_ARRAY(put_conditions, put_condition)
DEFINE_PUT_OBJECT(put_container_status, {"allocatedResources", put_requests},
                  {"resources", put_resources}, {"name", put_text})
DEFINE_PUT_ARRAY(put_container_statuses, put_container_status)
DEFINE_PUT_OBJECT(put_claimed, {"name", put_resource}, {"quantity", put_quantity},
                  {"perPod", put_quantity}, {"perContainer", put_quantity})
DEFINE_PUT_ARRAY(put_claimed_list, put_claimed)
DEFINE_PUT_ARRAY(put_texts, put_text)
DEFINE_PUT_OBJECT(put_claim, {"containers", put_texts}, {"mapping", put_claimed_list},
                  {"overhead", put_claimed_list})
DEFINE_PUT_ARRAY(put_claims, put_claim)
DEFINE_PUT_OBJECT(put_pod_status, {"phase", put_phase}, {"conditions", put_conditions},
                  {"containerStatuses", put_container_statuses},
                  {"allocatedResources", put_requests}, {"resources", put_resources},
                  {"nodeAllocatableResourceClaimStatuses", put_claims})
DEFINE_PUT_OBJECT(put_pod, {"metadata", put_metadata}, {"spec", put_spec},
                  {"status", put_pod_status}, {"kind", put_text})

TEST(random) {
        for (int i = 0, n = full_size(500000, 2000); i < n; i++) {
                _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 20);
                put_pod(&text);
                if (!pod_property_check(text.data, text.len))
                        fail_msg("refused: %s", text.data);
                size_t at = draw_below((unsigned)text.len);
                (void)pod_property_check(text.data, at);
                text.data[at] = (char)draw_below(256);
                (void)pod_property_check(text.data, text.len);
        }
}
