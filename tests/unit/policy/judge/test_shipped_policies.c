/* Who must win by each policy of policy/, as it lies there. */
#include "tests/unit/fixture/test.h"

#include <glob.h>
#include <libgen.h>

#include "judged_nodes.h"

#define GPU "nvidia.com/gpu.present=true"
#define SPOT "karpenter.sh/capacity-type=spot"
/* Maxima of crane's policy; the last is that of CPU in an hour. */
#define PEAKS(day, hour)                                                                           \
        " mem_usage_max_avg_1h=0.3 mem_usage_max_avg_1d=0.3 cpu_usage_max_avg_1d=" day             \
        " cpu_usage_max_avg_1h=" hour

enum { NODES_MAX = 5 };

static const struct {
        const char *policy, *what;
        const char *order; /* the best first, then those that are rejected */
        struct judged_node nodes[NODES_MAX];
        double cores; /* that the pod requests, of 10; 0: one */
} rows[] = {
        {"policy.yaml", "the one that is used less", "idle > busy",
         .nodes = {{"busy", "cpu=0.40 mem=0.3"}, {"idle", "cpu=0.3 mem=0.3"}}},
        {"policy.yaml", "the fuller of CPU and memory decides", "even > full",
         .nodes = {{"even", "cpu=0.40 mem=0.4"}, {"full", "cpu=0.1 mem=0.7"}}},
        {"policy.yaml", "above a limit none wins", "near, not hot, not full",
         .nodes = {{"hot", "cpu=0.81 mem=0.3"},
                   {"full", "cpu=0.1 mem=0.9"},
                   {"near", "cpu=0.79 mem=0.3"}}},
        {"policy.yaml", "but where all are, the coolest does", "hot > hotter",
         .nodes = {{"hotter", "cpu=0.9 mem=0.3"}, {"hot", "cpu=0.85 mem=0.3"}}},
        {"policy.yaml", "one whose readings have expired before it is known counts as the mean",
         "idle > old > busy",
         .nodes = {{"busy", "cpu=0.34 mem=0.2"},
                   {"old", "-cpu=0.9 -mem=0.9"},
                   {"idle", "cpu=0.3 mem=0.2"}}},

        {"crane.yaml", "means and maxima count", "idle > busy > none",
         .nodes = {{"busy", "cpu=0.50 mem=0.3" PEAKS("0.6", "0.6")},
                   {"idle", "cpu=0.2 mem=0.3" PEAKS("0.3", "0.3")},
                   {"none", ""}}},
        {"crane.yaml", "a peak of the day is remembered", "calm > peak",
         .nodes = {{"peak", "cpu=0.2 mem=0.3" PEAKS("0.9", "0.3")},
                   {"calm", "cpu=0.3 mem=0.3" PEAKS("0.3", "0.3")}}},
        {"crane.yaml", "limits of the mean and of the hour's maximum", "near, not hot, not was",
         .nodes = {{"hot", "cpu=0.66 mem=0.3" PEAKS("0.7", "0.7")},
                   {"was", "cpu=0.2 mem=0.3" PEAKS("0.8", "0.8")},
                   {"near", "cpu=0.65 mem=0.3" PEAKS("0.9", "0.75")}}},
        {"crane.yaml", "and those of memory", "near, not full, not was",
         .nodes = {{"full", "cpu=0.2 mem=0.66" PEAKS("0.3", "0.3")},
                   {"was", "cpu=0.2 mem=0.3 mem_usage_max_avg_1h=0.76"},
                   {"near", "cpu=0.2 mem=0.65 mem_usage_max_avg_1h=0.75"}}},
        {"crane.yaml", "two pods of the last minute", "calm > given",
         .nodes = {{"given", "cpu=0.2 mem=0.3 node_hot_value=1" PEAKS("0.3", "0.3")},
                   {"calm", "cpu=0.2 mem=0.3" PEAKS("0.3", "0.3")}}},

        {"pack.yaml", "up to half, the fuller one", "half > some > idle",
         .nodes = {{"idle", "cpu=0.05 mem=0.3"},
                   {"some", "cpu=0.40 mem=0.3"},
                   {"half", "cpu=0.46 mem=0.3"}},
         .cores = 0.1},
        {"pack.yaml", "beyond half, the emptier one", "over > more",
         .nodes = {{"more", "cpu=0.60 mem=0.3"}, {"over", "cpu=0.55 mem=0.3"}}, .cores = 0.1},
        {"pack.yaml", "the pod counts", "idle > some",
         .nodes = {{"some", "cpu=0.4 mem=0.3"}, {"idle", "cpu=0.05 mem=0.3"}}, .cores = 2},
        {"pack.yaml", "above a limit comes last", "idle > full",
         .nodes = {{"full", "cpu=0.48 mem=0.85"}, {"idle", "cpu=0 mem=0.1"}}, .cores = 0.1},

        {"gpu.yaml", "an idle node, not an idle GPU beside full CPUs and memory", "plain, not gpu",
         .nodes = {{"gpu", "cpu=0.99 mem=0.85 gpu=0", GPU}, {"plain", "cpu=0.3 mem=0.3"}}},
        {"gpu.yaml", "CPUs and memory of a GPU node count below their limits, too",
         "plain > gpu > full",
         .nodes = {{"gpu", "cpu=0.88 mem=0.2 gpu=0", GPU},
                   {"full", "cpu=0.1 mem=0.8 gpu=0", GPU},
                   {"plain", "cpu=0.3 mem=0.3"}}},
        {"gpu.yaml", "among GPU nodes the idle GPU, though its CPUs are busy", "idle > busy",
         .nodes = {{"busy", "cpu=0.1 mem=0.3 gpu=0.6", GPU},
                   {"idle", "cpu=0.80 mem=0.3 gpu=0.1", GPU}}},
        {"gpu.yaml", "limits of GPU nodes", "near, not cpu, not mem, not gpu",
         .nodes = {{"cpu", "cpu=0.91 mem=0.3 gpu=0.1", GPU},
                   {"mem", "cpu=0.1 mem=0.91 gpu=0.1", GPU},
                   {"gpu", "cpu=0.1 mem=0.3 gpu=0.91", GPU},
                   {"near", "cpu=0.9 mem=0.9 gpu=0.9", GPU}}},
        {"gpu.yaml", "nodes without a GPU, by CPU and memory", "calm > much, not hot, not full",
         .nodes = {{"hot", "cpu=0.81 mem=0.3"},
                   {"full", "cpu=0.3 mem=0.81"},
                   {"much", "cpu=0.3 mem=0.7"},
                   {"calm", "cpu=0.4 mem=0.3"}}},
        {"gpu.yaml", "a GPU that is not read is not idle", "less > old = more",
         .nodes = {{"old", "cpu=0.1 mem=0.3 -gpu=0", GPU},
                   {"less", "cpu=0.1 mem=0.3 gpu=0.46", GPU},
                   {"more", "cpu=0.1 mem=0.3 gpu=0.50", GPU}}},
        {"gpu.yaml", "a spot node may be fuller, but the emptier node wins",
         "plain > spot, not hot",
         .nodes = {{"spot", "cpu=0.85 mem=0.3", SPOT},
                   {"hot", "cpu=0.85 mem=0.3"},
                   {"plain", "cpu=0.79 mem=0.3"}}},
        {"gpu.yaml", "limits of spot nodes", "near, not hot, not full",
         .nodes = {{"hot", "cpu=0.96 mem=0.3", SPOT},
                   {"full", "cpu=0.3 mem=0.91", SPOT},
                   {"near", "cpu=0.95 mem=0.9", SPOT}}},

        {"psi.yaml", "who waits too long comes last, however idle", "busy > mem = io = cpu",
         .nodes = {{"mem", "cpu=0.1 mem=0.1 psi_cpu=0 psi_mem=0.2 psi_io=0"},
                   {"io", "cpu=0.1 mem=0.1 psi_cpu=0 psi_mem=0 psi_io=0.6"},
                   {"cpu", "cpu=0.1 mem=0.1 psi_cpu=0.45 psi_mem=0 psi_io=0"},
                   {"busy", "cpu=0.7 mem=0.5 psi_cpu=0.02 psi_mem=0 psi_io=0"}}},
        {"psi.yaml", "what is in use counts", "calm > busy > full",
         .nodes = {{"busy", "cpu=0.36 mem=0.1 psi_cpu=0 psi_mem=0 psi_io=0"},
                   {"full", "cpu=0.1 mem=0.60 psi_cpu=0 psi_mem=0 psi_io=0"},
                   {"calm", "cpu=0.3 mem=0.3 psi_cpu=0 psi_mem=0 psi_io=0"}}},
        {"psi.yaml", "waiting counts below the limit, too", "calm > reads > waits",
         .nodes = {{"waits", "cpu=0.1 mem=0.1 psi_cpu=0.38 psi_mem=0 psi_io=0"},
                   {"reads", "cpu=0.1 mem=0.1 psi_cpu=0 psi_mem=0 psi_io=0.34"},
                   {"calm", "cpu=0.1 mem=0.1 psi_cpu=0.05 psi_mem=0 psi_io=0"}}},
        {"psi.yaml", "a kernel that does not tell waits as the others do", "calm > none = waits",
         .nodes = {{"none", "cpu=0.1 mem=0.1"},
                   {"calm", "cpu=0.1 mem=0.1 psi_cpu=0.32 psi_mem=0 psi_io=0"},
                   {"waits", "cpu=0.1 mem=0.1 psi_cpu=0.36 psi_mem=0 psi_io=0"}}},
};

/* Those that pass the filter, and then by points; equal ones in the request's order. */
static char *order_of(struct judged *judged, const struct judged_node *nodes, double cores) {
        struct judged_node passing[NODES_MAX] = {0};
        struct buf order = BUF_INIT(1024);
        size_t count = 0;
        int before = -1;

        judged_ask(judged, nodes, cores, 1);
        answer_filter(&judged->answer, judged->snapshot, &judged->request, JUDGED_NOW);
        bool is_rejected[NODES_MAX] = {0};
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
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *path = xasprintf(POLICIES "/%s", rows[i].policy);
                struct policy *policy = NULL;
                struct error err = ERROR_NULL;
                struct judged judged;
                if (policy_load_file(path, true, &policy, &err) < 0)
                        fail_msg("%s", err.msg);
                judged_init(&judged, policy);
                for (size_t n = 0; rows[i].nodes[n].name; n++)
                        judged_put(&judged, &rows[i].nodes[n]);
                struct estimator *estimator = node_table_estimator(judged.table);
                if (estimator)
                        estimator_list_ended(estimator, JUDGED_NOW, JUDGED_NOW);
                _cleanup_(freep) char *order = order_of(&judged, rows[i].nodes,
                                                        rows[i].cores > 0 ? rows[i].cores : 1);
                if (strcmp(order, rows[i].order) != 0)
                        fail_msg("%s, %s: %s", rows[i].policy, rows[i].what, order);
                judged_done(&judged);
        }
}

TEST(none_is_left_out) {
        glob_t found;

        assert_int_equal(glob(POLICIES "/*.yaml", 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
                const char *name = basename(found.gl_pathv[i]);
                size_t cases = 0;
                for (size_t row = 0; row < ARRAY_LEN(rows); row++)
                        cases += strcmp(rows[row].policy, name) == 0;
                if (cases == 0)
                        fail_msg("%s has no cases here", name);
        }
        globfree(&found);
}
