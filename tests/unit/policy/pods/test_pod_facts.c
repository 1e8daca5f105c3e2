/* What is read of a Pod, by example and of random pods. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include <math.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/full_size.h"
#include "tests/unit/fixture/pod_property.h"
#include "tests/unit/fixture/rows.h"

#define GIB (1024.0 * 1024 * 1024)

/* A fact as tests/data/pods.tsv writes it: "cores=1.5", "finished". */
static bool has_fact(const struct pod_facts *facts, char *fact) {
        const struct {
                const char *name;
                double value;
        } numbers[] = {
                {"cores", facts->request.of[ESTIMATE_CPU]},
                {"gib", facts->request.of[ESTIMATE_MEM] / GIB},
                {"idle", facts->idle_cores},
                {"bound", (double)facts->bound_unix_ms / 1000},
                {"runs", (double)facts->runs_unix_ms / 1000},
                {"priority", (double)facts->priority},
                {"finished", facts->is_finished},
                {"retry", facts->is_retry},
                {"preferences", facts->has_preferences},
                {"restricted", facts->is_restricted},
                {"spread", facts->set_id != 0},
                {"claims", facts->has_claims},
                {"daemonset", facts->is_daemonset},
                {"mirror", facts->is_mirror},
                {"grouped", facts->group_id != 0},
        };
        const struct {
                const char *name;
                struct skim_string value;
        } texts[] = {
                {"workload", {facts->workload, facts->workload_len}},
                {"node", facts->node},
                {"namespace", facts->namespace},
                {"name", facts->name},
                {"uid", facts->uid},
                {"scheduler", facts->scheduler},
        };
        char *value = strchr(fact, '=');

        if (value)
                *value++ = '\0';
        for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
                if (strcmp(fact, numbers[i].name) == 0)
                        return fabs(numbers[i].value - (value ? strtod(value, NULL) : 1)) < 1e-9;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                if (strcmp(fact, texts[i].name) == 0)
                        return texts[i].value.len == strlen(value) &&
                               memcmp(texts[i].value.text, value, texts[i].value.len) == 0;
        return false;
}

/* tests/data/pods.tsv: what is read of a Pod, and the Pod. */
TEST(table) {
        size_t refused = 0;

        for (struct rows rows = rows_open("pods.tsv"); rows_next(&rows);) {
                struct pod_facts facts;
                char *rest = rows.cells[0], *fact;
                bool is_read = pod_read(&facts, rows.cells[1]);
                refused += !is_read;
                if (is_read == (strcmp(rest, "refused") == 0))
                        fail_msg("%s: read %d", rows.place, is_read);
                while (is_read && (fact = strsep(&rest, " ")))
                        if (!has_fact(&facts, fact))
                                fail_msg("%s: not %s", rows.place, fact);
        }
        assert_true(refused > 0);
}

/* @words: "CPU/MEMORY" of each container, with a '*' in front if it has restartPolicy: Always. */
static void put_containers(struct buf *out, const char *key, const char *words) {
        _cleanup_(freep) char *text = xmemdup0(words, strlen(words));
        const char *separator = "";
        char *rest = text, *cpu;

        (void)buf_printf(out, "\"%s\":[", key);
        while ((cpu = strtok_r(rest, " ", &rest))) {
                char *memory = strchr(cpu, '/');
                bool is_always = *cpu == '*';
                *memory++ = '\0';
                (void)buf_printf(out,
                                 "%s{\"resources\":{\"limits\":{\"cpu\":\"64\"},\"requests\":{"
                                 "\"cpu\":\"%s\",\"memory\":\"%s\"}}%s}",
                                 separator, cpu + is_always, memory,
                                 is_always ? ",\"restartPolicy\":\"Always\"" : "");
                separator = ",";
        }
        (void)buf_puts(out, "]");
}

/* Sums as in kube-scheduler: the table of KEP-753 and its neighbours. */
TEST(requests) {
        for (struct rows rows = rows_open("pod-requests.tsv"); rows_next(&rows);) {
                _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 12);
                struct pod_facts facts;
                (void)buf_puts(&text, "{\"spec\":{");
                put_containers(&text, "containers", rows.cells[0]);
                (void)buf_puts(&text, ",");
                put_containers(&text, "initContainers", rows.cells[1]);
                (void)buf_printf(&text, "%s}}", rows.cells[2]);
                assert_true(pod_read(&facts, text.data));
                if (facts.request.of[ESTIMATE_CPU] != strtod(rows.cells[3], NULL) ||
                    facts.request.of[ESTIMATE_MEM] != strtod(rows.cells[4], NULL) * GIB)
                        fail_msg("%s: %g cores, %g bytes", rows.place,
                                 facts.request.of[ESTIMATE_CPU], facts.request.of[ESTIMATE_MEM]);
        }
}

/* Groups are told apart by namespace and name. */
TEST(group) {
        static const char *const pods[][2] = {{"a", "g"}, {"b", "g"}, {"a", "h"}};
        struct pod_facts facts[ARRAY_LEN(pods)];

        for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
                _cleanup_(freep) char *text = xasprintf(
                        "{\"metadata\":{\"namespace\":\"%s\"},"
                        "\"spec\":{\"schedulingGroup\":{\"podGroupName\":\"%s\"}}}",
                        pods[i][0], pods[i][1]);
                uint64_t group_id;
                assert_true(pod_read(&facts[i], text));
                group_id = facts[i].group_id;
                assert_true(pod_read(&facts[i], text) && facts[i].group_id == group_id);
                for (size_t other = 0; other < i; other++)
                        assert_true(group_id != facts[other].group_id);
        }
}

TEST(not_utf8) {
        struct pod_facts facts;

        assert_false(pod_read(&facts, "{\"spec\":{\"nodeName\":\"\xff\"}}"));
}

/* As long as Kubernetes allows, and one more. */
TEST(long_names) {
        static const int limits[] = {POD_FACTS_NAMESPACE_MAX, POD_FACTS_KIND_MAX,
                                     POD_FACTS_NAME_MAX};

        for (size_t part = 0; part <= ARRAY_LEN(limits); part++) {
                int lens[ARRAY_LEN(limits)];
                struct pod_facts facts;
                for (size_t i = 0; i < ARRAY_LEN(limits); i++)
                        lens[i] = limits[i] + (i == part);
                _cleanup_(freep) char *text = xasprintf(
                        "{\"metadata\":{\"namespace\":\"%0*d\",\"ownerReferences\":["
                        "{\"kind\":\"%0*d\",\"name\":\"%0*d\"}]}}",
                        lens[0], 0, lens[1], 0, lens[2], 0);
                assert_true(pod_read(&facts, text));
                assert_int_equal(facts.workload_len,
                                 part == ARRAY_LEN(limits) ? POD_FACTS_WORKLOAD_MAX : 0);
        }
}

TEST(many_containers) {
        enum { CONTAINERS = 1000 };
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 20);
        struct pod_facts facts;

        (void)buf_puts(&text, "{\"spec\":{\"containers\":[{}");
        for (int i = 0; i < CONTAINERS; i++)
                (void)buf_puts(&text, ",{\"resources\":{\"requests\":{\"cpu\":\"250m\"}}}");
        (void)buf_puts(&text, "]}}");
        assert_true(pod_read(&facts, text.data));
        assert_true(facts.request.of[ESTIMATE_CPU] == CONTAINERS * 0.25);
}

/* A value that is made of parts of both, which leaves out some, and has odd ones. */
static json_t *mixed(json_t *a, json_t *b) {
        static const char *const odd[] = {"null",         "7",  "-1e9",   "true",       "\"\"",
                                          "\"\xc3\xa9\"", "[]", "[1,{}]", "{\"a\":[]}", "{}"};
        json_t *value;

        if (draw_below(30) == 0)
                return json_loads(odd[draw_below(ARRAY_LEN(odd))], JSON_DECODE_ANY, NULL);
        if (json_is_object(a) && json_is_object(b)) {
                json_t *result = json_object(), *const from[] = {a, b};
                const char *key;
                for (size_t i = 0; i < ARRAY_LEN(from); i++)
                        json_object_foreach (from[i], key, value) {
                                json_t *other = json_object_get(from[!i], key);
                                if (draw_below(8) > 0 && !json_object_get(result, key))
                                        (void)json_object_set_new(
                                                result, key, mixed(value, other ? other : value));
                        }
                return result;
        }
        if (json_is_array(a) && json_is_array(b)) {
                json_t *result = json_array();
                size_t i;
                json_array_foreach (a, i, value)
                        (void)json_array_append_new(result,
                                                    mixed(value, json_array_get(b, draw_below(3))));
                return result;
        }
        return json_deep_copy(b && draw_below(2) ? b : a);
}

/* Parts of the table's pods, put together at random, with repeated members; cut and overwritten. */
TEST(random) {
        json_auto_t *pods = json_array();

        for (struct rows rows = rows_open("pods.tsv"); rows_next(&rows);) {
                json_t *pod = json_loads(rows.cells[1], 0, NULL);
                if (pod)
                        (void)json_array_append_new(pods, pod);
        }
        unsigned count = (unsigned)json_array_size(pods);
        for (int i = 0, n = full_size(500000, 2000); i < n; i++) {
                json_auto_t *first = mixed(json_array_get(pods, draw_below(count)),
                                           json_array_get(pods, draw_below(count)));
                _cleanup_(freep) char *members = json_dumps(first, JSON_ENCODE_ANY);
                _cleanup_(freep) char *more = json_dumps(json_array_get(pods, draw_below(count)),
                                                         0);
                _cleanup_(freep) char *text = xasprintf("%.*s,%s", (int)strlen(members) - 1,
                                                        members, more + 1);
                size_t len = strlen(text), at = draw_below((unsigned)len);
                (void)pod_property_check(members, strlen(members));
                (void)pod_property_check(text, len);
                (void)pod_property_check(text, at);
                text[at] = (char)draw_below(256);
                (void)pod_property_check(text, len);
        }
}
