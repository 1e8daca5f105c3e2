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
        double cores; /* that the pod requests, of 10 */
        struct judged_node nodes[NODES_MAX];
        const char *order; /* the best first, then those that are rejected */
} rows[] = {
        {"policy.yaml",
         "the one that is used less",
         1,
         {{"busy", NULL, "cpu=0.40 mem=0.3"}, {"idle", NULL, "cpu=0.3 mem=0.3"}},
         "idle > busy"},
        {"policy.yaml",
         "the fuller of CPU and memory decides",
         1,
         {{"even", NULL, "cpu=0.40 mem=0.4"}, {"full", NULL, "cpu=0.1 mem=0.7"}},
         "even > full"},
        {"policy.yaml",
         "above a limit none wins",
         1,
         {{"hot", NULL, "cpu=0.81 mem=0.3"},
          {"full", NULL, "cpu=0.1 mem=0.9"},
          {"near", NULL, "cpu=0.79 mem=0.3"}},
         "near, not hot, not full"},
        {"policy.yaml",
         "but where all are, the coolest does",
         1,
         {{"hotter", NULL, "cpu=0.9 mem=0.3"}, {"hot", NULL, "cpu=0.85 mem=0.3"}},
         "hot > hotter"},
        {"policy.yaml",
         "one whose readings are old is judged by them",
         1,
         {{"busy", NULL, "cpu=0.3 mem=0.2"}, {"old", NULL, "-cpu=0.9 -mem=0.9"}},
         "busy > old"},

        {"crane.yaml",
         "means and maxima count",
         1,
         {{"busy", NULL, "cpu=0.50 mem=0.3" PEAKS("0.6", "0.6")},
          {"idle", NULL, "cpu=0.2 mem=0.3" PEAKS("0.3", "0.3")},
          {"none", NULL, ""}},
         "idle > busy > none"},
        {"crane.yaml",
         "a peak of the day is remembered",
         1,
         {{"peak", NULL, "cpu=0.2 mem=0.3" PEAKS("0.9", "0.3")},
          {"calm", NULL, "cpu=0.3 mem=0.3" PEAKS("0.3", "0.3")}},
         "calm > peak"},
        {"crane.yaml",
         "limits of the mean and of the hour's maximum",
         1,
         {{"hot", NULL, "cpu=0.66 mem=0.3" PEAKS("0.7", "0.7")},
          {"was", NULL, "cpu=0.2 mem=0.3" PEAKS("0.8", "0.8")},
          {"near", NULL, "cpu=0.65 mem=0.3" PEAKS("0.9", "0.75")}},
         "near, not hot, not was"},
        {"crane.yaml",
         "and those of memory",
         1,
         {{"full", NULL, "cpu=0.2 mem=0.66" PEAKS("0.3", "0.3")},
          {"was", NULL, "cpu=0.2 mem=0.3 mem_usage_max_avg_1h=0.76"},
          {"near", NULL, "cpu=0.2 mem=0.65 mem_usage_max_avg_1h=0.75"}},
         "near, not full, not was"},
        {"crane.yaml",
         "two pods of the last minute",
         1,
         {{"given", NULL, "cpu=0.2 mem=0.3 node_hot_value=1" PEAKS("0.3", "0.3")},
          {"calm", NULL, "cpu=0.2 mem=0.3" PEAKS("0.3", "0.3")}},
         "calm > given"},

        {"pack.yaml",
         "up to half, the fuller one",
         0.1,
         {{"idle", NULL, "cpu=0.05 mem=0.3"},
          {"some", NULL, "cpu=0.40 mem=0.3"},
          {"half", NULL, "cpu=0.46 mem=0.3"}},
         "half > some > idle"},
        {"pack.yaml",
         "beyond half, the emptier one",
         0.1,
         {{"more", NULL, "cpu=0.60 mem=0.3"}, {"over", NULL, "cpu=0.55 mem=0.3"}},
         "over > more"},
        {"pack.yaml",
         "the pod counts",
         2,
         {{"some", NULL, "cpu=0.4 mem=0.3"}, {"idle", NULL, "cpu=0.05 mem=0.3"}},
         "idle > some"},
        {"pack.yaml",
         "above a limit comes last",
         0.1,
         {{"full", NULL, "cpu=0.48 mem=0.85"}, {"idle", NULL, "cpu=0 mem=0.1"}},
         "idle > full"},

        {"gpu.yaml",
         "an idle node, not an idle GPU beside full CPUs and memory",
         1,
         {{"gpu", GPU, "cpu=0.99 mem=0.85 gpu=0"}, {"plain", NULL, "cpu=0.3 mem=0.3"}},
         "plain, not gpu"},
        {"gpu.yaml",
         "CPUs and memory of a GPU node count below their limits, too",
         1,
         {{"gpu", GPU, "cpu=0.88 mem=0.2 gpu=0"},
          {"full", GPU, "cpu=0.1 mem=0.8 gpu=0"},
          {"plain", NULL, "cpu=0.3 mem=0.3"}},
         "plain > gpu > full"},
        {"gpu.yaml",
         "among GPU nodes the idle GPU, though its CPUs are busy",
         1,
         {{"busy", GPU, "cpu=0.1 mem=0.3 gpu=0.6"}, {"idle", GPU, "cpu=0.80 mem=0.3 gpu=0.1"}},
         "idle > busy"},
        {"gpu.yaml",
         "limits of GPU nodes",
         1,
         {{"cpu", GPU, "cpu=0.91 mem=0.3 gpu=0.1"},
          {"mem", GPU, "cpu=0.1 mem=0.91 gpu=0.1"},
          {"gpu", GPU, "cpu=0.1 mem=0.3 gpu=0.91"},
          {"near", GPU, "cpu=0.9 mem=0.9 gpu=0.9"}},
         "near, not cpu, not mem, not gpu"},
        {"gpu.yaml",
         "nodes without a GPU, by CPU and memory",
         1,
         {{"hot", NULL, "cpu=0.81 mem=0.3"},
          {"full", NULL, "cpu=0.3 mem=0.81"},
          {"much", NULL, "cpu=0.3 mem=0.7"},
          {"calm", NULL, "cpu=0.4 mem=0.3"}},
         "calm > much, not hot, not full"},
        {"gpu.yaml",
         "a GPU that is not read is not idle",
         1,
         {{"old", GPU, "cpu=0.1 mem=0.3 -gpu=0"},
          {"less", GPU, "cpu=0.1 mem=0.3 gpu=0.46"},
          {"more", GPU, "cpu=0.1 mem=0.3 gpu=0.50"}},
         "less > old = more"},
        {"gpu.yaml",
         "a spot node may be fuller, but the emptier node wins",
         1,
         {{"spot", SPOT, "cpu=0.85 mem=0.3"},
          {"hot", NULL, "cpu=0.85 mem=0.3"},
          {"plain", NULL, "cpu=0.79 mem=0.3"}},
         "plain > spot, not hot"},
        {"gpu.yaml",
         "limits of spot nodes",
         1,
         {{"hot", SPOT, "cpu=0.96 mem=0.3"},
          {"full", SPOT, "cpu=0.3 mem=0.91"},
          {"near", SPOT, "cpu=0.95 mem=0.9"}},
         "near, not hot, not full"},

        {"psi.yaml",
         "who waits too long comes last, however idle",
         1,
         {{"mem", NULL, "cpu=0.1 mem=0.1 psi_cpu=0 psi_mem=0.2 psi_io=0"},
          {"io", NULL, "cpu=0.1 mem=0.1 psi_cpu=0 psi_mem=0 psi_io=0.6"},
          {"cpu", NULL, "cpu=0.1 mem=0.1 psi_cpu=0.45 psi_mem=0 psi_io=0"},
          {"busy", NULL, "cpu=0.7 mem=0.5 psi_cpu=0.02 psi_mem=0 psi_io=0"}},
         "busy > mem = io = cpu"},
        {"psi.yaml",
         "what is in use counts",
         1,
         {{"busy", NULL, "cpu=0.36 mem=0.1 psi_cpu=0 psi_mem=0 psi_io=0"},
          {"full", NULL, "cpu=0.1 mem=0.60 psi_cpu=0 psi_mem=0 psi_io=0"},
          {"calm", NULL, "cpu=0.3 mem=0.3 psi_cpu=0 psi_mem=0 psi_io=0"}},
         "calm > busy > full"},
        {"psi.yaml",
         "waiting counts below the limit, too",
         1,
         {{"waits", NULL, "cpu=0.1 mem=0.1 psi_cpu=0.38 psi_mem=0 psi_io=0"},
          {"reads", NULL, "cpu=0.1 mem=0.1 psi_cpu=0 psi_mem=0 psi_io=0.34"},
          {"calm", NULL, "cpu=0.1 mem=0.1 psi_cpu=0.05 psi_mem=0 psi_io=0"}},
         "calm > reads > waits"},
        {"psi.yaml",
         "a kernel that does not tell waits as the others do",
         1,
         {{"none", NULL, "cpu=0.1 mem=0.1"},
          {"calm", NULL, "cpu=0.1 mem=0.1 psi_cpu=0.32 psi_mem=0 psi_io=0"},
          {"waits", NULL, "cpu=0.1 mem=0.1 psi_cpu=0.36 psi_mem=0 psi_io=0"}},
         "calm > none = waits"},
};

/* Those that pass the filter, and then by points; equal ones in the request's order. */
static char *order_of(struct judged *judged, const struct judged_node *nodes, double cores) {
        struct judged_node passing[NODES_MAX] = {0};
        struct buf order = BUF_INIT(1024);
        size_t count = 0;
        int before = -1;

        judged_ask(judged, nodes, cores, 1);
        answer_filter(&judged->answer, judged->snapshot, &judged->request, NULL, JUDGED_NOW, 0);
        bool is_rejected[NODES_MAX] = {0};
        for (size_t i = 0; nodes[i].name; i++) {
                is_rejected[i] = !judged->answer.judge.is_told[i];
                if (!is_rejected[i])
                        passing[count++] = nodes[i];
        }
        judged_score(judged, passing, cores, 1);
        for (int points = 10; points >= 0; points--)
                for (size_t i = 0; i < count; i++) {
                        if (judged->answer.judge.points[i] != points)
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
                _cleanup_(freep) char *order = order_of(&judged, rows[i].nodes, rows[i].cores);
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
