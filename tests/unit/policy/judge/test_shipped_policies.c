/* Who must win by each policy of policy/, as it lies there: tests/data/shipped-policies.tsv. */
#include "tests/unit/fixture/test.h"

#include <glob.h>
#include <libgen.h>

#include "judged_rows.h"

/* Those that pass the filter, and then by points; equal ones in the request's order. */
static char *order_of(struct judged *judged, const struct judged_node *nodes, double cores) {
        struct judged_node passing[JUDGED_ROW_NODES + 1] = {0};
        struct buf order = BUF_INIT(1024);
        size_t count = 0;
        int before = -1;

        judged_ask(judged, nodes, cores, 1);
        answer_filter(&judged->answer, judged->snapshot, &judged->request, JUDGED_NOW);
        bool is_rejected[JUDGED_ROW_NODES + 1] = {0};
        for (size_t i = 0; nodes[i].name; i++) {
                is_rejected[i] = !judged->answer.judge.filtered.is_listed[i];
                if (!is_rejected[i])
                        passing[count++] = nodes[i];
        }
        judged_score(judged, passing, cores, 1);
        for (int points = 10; points >= 0; points--)
                for (size_t i = 0; i < count; i++) {
                        if (judged->answer.judge.scored.points[i] != points)
                                continue;
                        (void)buf_printf(&order, "%s%s",
                                         before < 0        ? ""
                                         : points < before ? " > "
                                                           : " = ",
                                         passing[i].name);
                        before = points;
                }
        for (size_t i = 0; nodes[i].name; i++)
                if (is_rejected[i])
                        (void)buf_printf(&order, ", not %s", nodes[i].name);
        return buf_take(&order);
}

TEST(who_wins) {
        for (struct rows rows = rows_open("shipped-policies.tsv"); rows_next(&rows);) {
                _cleanup_(freep) char *path = xasprintf("policy/%s", rows.cells[0]);
                struct judged_node nodes[JUDGED_ROW_NODES + 1] = {0};
                struct policy *policy = NULL;
                struct error err = ERROR_NULL;
                struct judged judged;
                if (policy_load_file(path, true, &policy, &err) < 0)
                        fail_msg("%s", err.msg);
                judged_init(&judged, policy);
                judged_row_nodes(&rows, nodes);
                for (size_t n = 0; nodes[n].name; n++)
                        judged_put(&judged, &nodes[n]);
                struct estimator *estimator = node_table_estimator(judged.table);
                if (estimator)
                        estimator_list_ended(estimator, JUDGED_NOW, JUDGED_NOW);
                _cleanup_(freep) char *order = order_of(&judged, nodes,
                                                        strtod(rows.cells[3], NULL));
                if (strcmp(order, rows.cells[2]) != 0)
                        fail_msg("%s: %s", rows.place, order);
                judged_done(&judged);
        }
}

static bool has_row(const char *policy) {
        bool found = false;

        for (struct rows rows = rows_open("shipped-policies.tsv"); rows_next(&rows);)
                found |= strcmp(rows.cells[0], policy) == 0;
        return found;
}

TEST(none_is_left_out) {
        glob_t found;

        assert_int_equal(glob("policy/*.yaml", 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++)
                if (!has_row(basename(found.gl_pathv[i])))
                        fail_msg("%s has no cases", found.gl_pathv[i]);
        globfree(&found);
}
