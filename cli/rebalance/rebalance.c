/* `rebalance`: which pods should move off hot nodes, and moving them. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "cli/rebalance/rebalance_ledger.h"
#include "cli/rebalance/rebalance_print.h"
#include "cli/verb/verb.h"
#include "codec/json.h"

static struct {
        int64_t evictions_max, priority_max, interval_ms;
        bool is_applied, is_watching;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "apply", .type = OPTION_BOOL, .value = &settings.is_applied,
         .help = "Evict the pods of the plan. PodDisruptionBudgets decide."},
        {.name = "max-evictions-per-hour", .type = OPTION_INT, .value = &settings.evictions_max,
         .fallback = "10", .metavar = "COUNT", .min = 1, .max = 1000,
         .help = "Evict at most COUNT pods of the cluster in any hour, in all runs together. One plan "
                 "moves at most one pod per 50 nodes."},
        {.name = "max-priority", .type = OPTION_INT, .value = &settings.priority_max,
         .fallback = "0", .metavar = "PRIORITY", .min = INT32_MIN, .max = INT32_MAX,
         .help = "Do not move pods with a higher priority."},
        {.name = "watch", .letter = 'w', .type = OPTION_BOOL, .value = &settings.is_watching,
         .help = "Repeat until Ctrl-C. Print a plan only if other nodes are hot, or stay hot for "
                 "other reasons."},
        {.name = "interval", .type = OPTION_DURATION_MS, .value = &settings.interval_ms,
         .fallback = "60s", .min = 1000, .max = 3600000,
         .help = "Pause between two plans of --watch, and the least time from an eviction to the next "
                 "plan with --apply."},
        VERB_OUTPUT_ROW,
        VERB_NAMESPACE_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

/* What is kept between the plans of --watch. */
struct session {
        struct cluster *cluster;
        struct rebalance_ledger ledger;
        uint64_t shown; /* hash of the last plan that was printed */
};

static void session_done(struct session *session) {
        rebalance_ledger_done(&session->ledger);
}

/* ---- Evictions. */

/* Return: 0; 1: not all pods could be evicted; negative errno */
static int apply(struct session *session, const struct rebalance_plan *plan,
                 const struct rebalance_pods *pods, FILE *out, struct error *err) {
        int status = 0;

        for (size_t i = 0; i < plan->node_count; i++) {
                const struct rebalance_node *node = &plan->nodes[i];
                const struct rebalance_name *pod = &pods->names[node->pod];
                int64_t give_up_mono_ms = clock_mono_ms() + settings.interval_ms;
                struct error why = ERROR_NULL;
                if (node->stay != REBALANCE_MOVES)
                        continue;
                const char *from = rebalance_pods_node(pods, node->row);
                int r = rebalance_ledger_add(&session->ledger, pod->workload, from, err);
                if (r < 0)
                        return r;
                bool is_evicted = rebalance_pods_evict(pods, node->pod, false, give_up_mono_ms,
                                                       &why) == KUBE_OK;
                (void)fprintf(out, "%s %s/%s from %s%s%s\n", is_evicted ? "evicted" : "not evicted",
                              pod->namespace, pod->name, from, is_evicted ? "" : ": ", why.msg);
                status |= !is_evicted;
        }
        return status;
}

/* ---- Plans. */

/* Of all but the numbers. */
static uint64_t plan_hash(const struct rebalance_plan *plan) {
        uint64_t hash = HASH_FNV1A_INIT;

        for (size_t i = 0; i < plan->node_count; i++) {
                const struct rebalance_node *node = &plan->nodes[i];
                char state[32];
                unsigned reasons = 0;
                for (unsigned keep = 0; keep < REBALANCE_KEEP_COUNT; keep++)
                        reasons |= (unsigned)(node->kept[keep] > 0) << keep;
                int len = snprintf(state, sizeof(state), "%" PRIu32 " %d %x\n", node->row,
                                   (int)node->stay, reasons);
                hash = hash_fnv1a(hash, state, (size_t)len);
        }
        return hash;
}

/* With --watch, only changes. */
static void print_if_new(struct session *session, const struct rebalance_plan *plan,
                         const struct rebalance_pods *pods) {
        uint64_t hash = plan_hash(plan);

        if (hash == session->shown)
                return;
        session->shown = hash;
        if (verb_is_document())
                verb_document(rebalance_json(plan, pods));
        else
                rebalance_print(plan, pods, stdout);
        if (plan->move_count > 0 && !settings.is_applied && !verb_is_document())
                (void)fputs("\nThis is a plan. --apply evicts the pods.\n", stdout);
}

/* The evictions of the ledger, in terms of the plan; to be freed. */
static struct rebalance_eviction *evictions_of(const struct rebalance_ledger *ledger,
                                               const struct rebalance_pods *pods) {
        size_t count = json_array_size(ledger->evictions);
        struct rebalance_eviction *evictions = xcalloc(count + 1, sizeof(*evictions));

        for (size_t i = 0; i < count; i++) {
                struct rebalance_ledger_entry entry = rebalance_ledger_at(ledger, i);
                evictions[i] = (struct rebalance_eviction){
                        .workload = strmap_get(&pods->workloads, entry.workload,
                                               entry.workload_len),
                        .row = rebalance_pods_row(pods, entry.node),
                        .at_unix_ms = entry.at_unix_ms,
                };
        }
        return evictions;
}

/* Pods are listed only if there is a hot node. Return: as apply() */
static int make_plan(struct session *session, const json_t *page, int64_t now_unix_ms,
                     size_t move_max, struct error *err) {
        _cleanup_(freep) struct rebalance_eviction *evictions = NULL;
        _cleanup_(rebalance_plan_done) struct rebalance_plan plan = {0};
        _cleanup_(rebalance_pods_done) struct rebalance_pods pods = {
                .cluster = session->cluster,
                .page = page,
                .priority_max = settings.priority_max,
                .needs_right = settings.is_applied,
        };
        rebalance_pods_nodes(&pods);
        struct rebalance_input input = {
                .rows = pods.rows,
                .row_count = pods.row_count,
                .now_unix_ms = now_unix_ms,
                .move_max = move_max,
                .read_pod = rebalance_pods_read,
                .ask = rebalance_pods_ask,
                .userdata = &pods,
        };

        rebalance_plan(&input, &plan);
        if (plan.node_count > 0) {
                int r = rebalance_pods_list(&pods, &plan, err);
                if (r < 0)
                        return r;
                rebalance_plan_done(&plan);
                evictions = evictions_of(&session->ledger, &pods);
                input.pods = pods.pods;
                input.pod_count = pods.count;
                input.evictions = evictions;
                input.eviction_count = json_array_size(session->ledger.evictions);
                rebalance_plan(&input, &plan);
        }
        print_if_new(session, &plan, &pods);
        if (!settings.is_applied || plan.move_count == 0)
                return 0;
        return apply(session, &plan, &pods, verb_is_document() ? stderr : stdout, err);
}

/* A plan alone is also made by people who may not read the Lease.
 * @ret_max: how many pods may be evicted now */
static int read_ledger(struct rebalance_ledger *ledger, size_t *ret_max, struct error *err) {
        int r = rebalance_ledger_read(ledger, err);
        size_t evictions = rebalance_ledger_last(ledger, MS_PER_HOUR),
               max = (size_t)settings.evictions_max;

        *ret_max = max;
        if (!settings.is_applied)
                return 0;
        if (r < 0)
                return r;
        if (rebalance_ledger_last(ledger, settings.interval_ms) > 0)
                return error_set(err, EAGAIN,
                                 "--apply: a pod was evicted less than %lld s ago, and the effect "
                                 "does not show yet",
                                 (long long)(settings.interval_ms / MS_PER_S));
        *ret_max = evictions < max ? max - evictions : 0;
        return 0;
}

/* Return: as apply() */
static int run_once(struct session *session, struct error *err) {
        _cleanup_(freep) char *from = NULL;
        json_auto_t *page = NULL;
        size_t move_max = 0;

        int r = cluster_ask(session->cluster, "nodes", NULL, NULL, &page, &from, err);
        if (r < 0)
                return r;
        if (!json_is_at("estimate", page, "policy", "scoring", NULL))
                return error_set(err, EINVAL,
                                 "the policy in force: expected extender.scoring: "
                                 "estimate");
        r = read_ledger(&session->ledger, &move_max, err);
        return r < 0 ? r : make_plan(session, page, clock_wall_unix_ms(), move_max, err);
}

/* ---- The verb. */

/* The first process of a container has no default actions. */
static _Noreturn void on_sigterm(int number) {
        (void)number;
        _exit(0);
}

/* An error of one plan does not end it, and is printed when it is another one than the last. */
static int watch(struct session *session, struct error *err) {
        struct error last = ERROR_NULL;
        int r = 0;

        (void)signal(SIGTERM, on_sigterm);
        (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a log */
        while (r == 0 && !ferror(stdout)) {
                struct error now = ERROR_NULL;
                if (run_once(session, &now) < 0 && strcmp(now.msg, last.msg) != 0)
                        (void)fprintf(stderr, "kubectl plimsoll rebalance: %s\n", now.msg);
                last = now;
                cluster_pause(session->cluster, settings.interval_ms);
                r = cluster_check(session->cluster, err);
        }
        return r;
}

static int rebalance_check(struct error *err) {
        if (settings.is_watching && verb_is_document())
                return error_set(err, EX_USAGE, "--watch: expected with -o table or wide");
        return 0;
}

static int run_rebalance(struct cluster *cluster, struct error *err) {
        _cleanup_(session_done) struct session session = {
                .cluster = cluster,
                .ledger.cluster = cluster,
        };

        return settings.is_watching ? watch(&session, err) : run_once(&session, err);
}

const struct verb rebalance_verb = {
        .name = "rebalance",
        .summary = "Move pods off hot nodes",
        .usage = "Usage: kubectl plimsoll rebalance [FLAG...]\n"
                 "\n"
                 "Find nodes with more CPU in use than the policy wants, the pod that each of\n"
                 "them should lose, and the node that would get it. Without --apply, nothing is\n"
                 "evicted.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll rebalance                   # print a plan\n"
                 "  kubectl plimsoll rebalance --apply           # carry it out\n"
                 "  kubectl plimsoll rebalance --apply --watch   # go on, as deploy/rebalance "
                 "does\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .check = rebalance_check,
        .run = run_rebalance,
};
