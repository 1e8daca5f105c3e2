/* What people are shown of an extender's answer about nodes. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "cli/explain/explain_nodes.h"

static const struct style plain = {"", "", "", "", "", "", false, SIZE_MAX};

static char *print(const char *answer, const char *node, size_t max_nodes) {
        json_auto_t *json = json_loads(answer, 0, NULL);
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        assert_non_null(json);
        explain_nodes_print(json, "e at TIME", node, max_nodes, &plain, out);
        assert_int_equal(fclose(out), 0);
        return text;
}

static void expect(const char *answer, const char *node, size_t max_nodes, const char *wanted) {
        _cleanup_(freep) char *text = print(answer, node, max_nodes);

        assert_string_equal(text, wanted);
}

static const char three[] =
        "{\"nodes\": [{\"node\": \"a\", \"score\": 3, \"score100\": 30},"
        " {\"node\": \"b\", \"score\": null, \"rejectedBy\": \"m\", \"reason\": \"m above 0.5\"},"
        " {\"node\": \"c\", \"score\": 9.0, \"score100\": 90}, 3]}";

TEST(all) {
        expect(three, NULL, SIZE_MAX,
               "by e at TIME\n"
               "\nc: passes; score 9 of 10 (90 of 100)\n"
               "\na: passes; score 3 of 10 (30 of 100)\n"
               "\nb: rejected: m above 0.5\n"
               "\n?: passes; score ? of 10\n");
        expect("{\"nodes\": [{\"node\": \"a\", \"score\": 5, \"estimate\": {\"headroom\": 50}},"
               " {\"node\": \"b\", \"score\": 5, \"estimate\": {\"headroom\": 54}}]}",
               NULL, 1,
               "by e at TIME\n\nb: passes; score 5 of 10\n"
               "  room   headroom                     54.0 of 100\n"
               "\n1 other node, no better: -o wide shows all\n");
        expect("{\"nodes\": []}", NULL, SIZE_MAX, "by e at TIME\nno nodes\n");
        expect("{\"rule\": 2, \"exempt\": true}", NULL, SIZE_MAX,
               "by e at TIME\n  rule 2 of the policy applies to the pod: no limit rejects it\n"
               "no nodes\n");
        expect("{\"rule\": 2}", NULL, SIZE_MAX,
               "by e at TIME\n  rule 2 of the policy applies to the pod: it adds limits\nno "
               "nodes\n");
        expect("{\"rule\": null, \"exempt\": true}", NULL, SIZE_MAX,
               "by e at TIME\n  the pod belongs to a DaemonSet: no limit rejects it\nno nodes\n");
}

/* The pod's node, then the best. */
TEST(some) {
        expect(three, "b", 1,
               "by e at TIME\n"
               "\nits node, which counts the pod already:\n"
               "b: rejected: m above 0.5\n"
               "\nc: passes; score 9 of 10 (90 of 100)\n"
               "\n2 other nodes, no better: -o wide shows all\n");
        expect(three, "unknown", 1,
               "by e at TIME\n"
               "\nc: passes; score 9 of 10 (90 of 100)\n"
               "\n3 other nodes, no better: -o wide shows all\n");
        _cleanup_(freep) char *all = print(three, NULL, SIZE_MAX);
        assert_null(strstr(all, "-o wide"));
}
