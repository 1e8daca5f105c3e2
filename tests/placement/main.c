/*
 * Runs scenarios with one algorithm after the other on the same arrivals, and compares them.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithm.h"
#include "base/mem.h"
#include "base/number.h"
#include "report.h"
#include "scenario.h"

enum { MAX_SCENARIOS = 64, MAX_ALGORITHMS = 32, MAX_LAG_S = 60 };

/* What there is to choose from: each list ends with NULL. */
static const struct algorithm *const peers[] = {
        &algorithm_default,
        &algorithm_crane,
        &algorithm_koordinator,
        &algorithm_koordinator_0,
        &algorithm_tlp,
        &algorithm_tlp_tuned,
        &algorithm_lvrb,
        &algorithm_estimate,
        &algorithm_workloads,
        &algorithm_oracle,
        NULL,
};
static const struct algorithm *const variants[] = {
        &algorithm_admission,
        &algorithm_koordinator_3,
        &algorithm_koordinator_p95,
        &algorithm_koordinator_p95_3,
        &algorithm_tlp_prometheus,
        &algorithm_most_allocated,
        NULL,
};
static const struct algorithm *const predictors[] = {&algorithm_trial, NULL};
static const struct algorithm *const evictors[] = {&algorithm_rebalance, &algorithm_rebalance_ms,
                                                   NULL};
static const struct {
        const char *kind, *head;
        const struct algorithm *const *algorithms;
} groups[] = {
        {"peer", "Peers", peers},
        {"variant", "Peers with other settings", variants},
        {"predictor", "The default scheduler, with a prediction next to it", predictors},
        {"evictor", "The estimate, with evictions next to it", evictors},
        {"part", "The estimate without a part of it", algorithm_estimate_parts},
};

struct job {
        const char *scenarios[MAX_SCENARIOS];
        size_t scenario_count;
        const struct algorithm *algorithms[MAX_ALGORITHMS];
        size_t algorithm_count;
        const char *policy_file, *crane_policy_file, *traces;
        struct policy *policies[ALGORITHM_NEEDS_KINDS];
        uint64_t first_seed, seeds;
        double scale, lag_s; /* lag_s < 0: the scenario's */
        bool is_json, is_world, is_list, is_help;
};

static void print_help(void) {
        (void)printf(
                "Usage: placement --scenario FILE... [OPTION]...\n"
                "Simulates which nodes get the pods, and how hot that makes them.\n\n"
                "  --scenario FILE    a cluster and its pods, see tests/placement/README.md;\n"
                "                     repeatable\n"
                "  --algorithm NAME   repeatable; default: every peer\n"
                "  --policy FILE      of the estimate, with scoring: estimate (default: the\n"
                "                     built-in one)\n"
                "  --crane-policy FILE  crane's (default: policy/crane.yaml)\n"
                "  --seeds N          runs of each, 1 to %d (default 3)\n"
                "  --first-seed N     the others follow (default 1)\n"
                "  --scale F          of the time that is measured, 0.01 to 10 (default 1)\n"
                "  --traces DIR       of recorded usage, see tests/placement/traces.md\n"
                "  --lag SECONDS      from a binding until an algorithm sees it, 0 to %d\n"
                "                     (default: the scenario's)\n"
                "  -o table|json      (default table); world: the nodes and pods of the first\n"
                "                     seed of one scenario, as JSON, and nothing is simulated;\n"
                "                     algorithms: their names and this text, as JSON\n"
                "  --help\n",
                REPORT_MAX_SEEDS, MAX_LAG_S);
        for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
                (void)printf("\n%s:\n", groups[g].head);
                for (size_t i = 0; groups[g].algorithms[i]; i++)
                        (void)printf("  %-21s %s\n", groups[g].algorithms[i]->name,
                                     groups[g].algorithms[i]->about);
        }
}

static void list_algorithms(void) {
        const char *before = "[";

        for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
                for (size_t i = 0; groups[g].algorithms[i]; i++) {
                        const struct algorithm *algorithm = groups[g].algorithms[i];
                        (void)printf("%s{\"name\": \"%s\", \"about\": \"%s\", \"kind\": \"%s\"}",
                                     before, algorithm->name, algorithm->about, groups[g].kind);
                        before = ",\n";
                }
        }
        (void)printf("]\n");
}

static const struct algorithm *find_algorithm(const char *name) {
        for (size_t g = 0; g < ARRAY_LEN(groups); g++)
                for (size_t i = 0; groups[g].algorithms[i]; i++)
                        if (strcmp(groups[g].algorithms[i]->name, name) == 0)
                                return groups[g].algorithms[i];
        return NULL;
}

static bool parse_number(const char *text, double min, double max, double *ret) {
        return number_parse(text, strlen(text), ret) && *ret >= min && *ret <= max;
}

static bool take_option(struct job *job, int option, const char *text) {
        const struct algorithm *algorithm = NULL;

        switch (option) {
        case 's':
                if (job->scenario_count == MAX_SCENARIOS)
                        return false;
                job->scenarios[job->scenario_count++] = text;
                return true;
        case 'a':
                if (job->algorithm_count == MAX_ALGORITHMS)
                        return false;
                algorithm = find_algorithm(text);
                if (!algorithm)
                        return false;
                job->algorithms[job->algorithm_count++] = algorithm;
                return true;
        case 'p':
                job->policy_file = text;
                return true;
        case 'c':
                job->crane_policy_file = text;
                return true;
        case 't':
                job->traces = text;
                return true;
        case 'n':
                return number_parse_u64(text, strlen(text), &job->seeds) && job->seeds > 0 &&
                       job->seeds <= REPORT_MAX_SEEDS;
        case 'i':
                return number_parse_u64(text, strlen(text), &job->first_seed);
        case 'f':
                return parse_number(text, 0.01, 10, &job->scale);
        case 'l':
                return parse_number(text, 0, MAX_LAG_S, &job->lag_s);
        case 'o':
                job->is_json = strcmp(text, "json") == 0;
                job->is_world = strcmp(text, "world") == 0;
                job->is_list = strcmp(text, "algorithms") == 0;
                return job->is_json || job->is_world || job->is_list || strcmp(text, "table") == 0;
        default:
                return false;
        }
}

/* Return: 0; negative errno with what is wrong */
static int parse_arguments(int argc, char **argv, struct job *job, struct error *err) {
        static const struct option options[] = {
                {"scenario", required_argument, NULL, 's'},
                {"algorithm", required_argument, NULL, 'a'},
                {"policy", required_argument, NULL, 'p'},
                {"crane-policy", required_argument, NULL, 'c'},
                {"traces", required_argument, NULL, 't'},
                {"seeds", required_argument, NULL, 'n'},
                {"first-seed", required_argument, NULL, 'i'},
                {"scale", required_argument, NULL, 'f'},
                {"lag", required_argument, NULL, 'l'},
                {"output", required_argument, NULL, 'o'},
                {"help", no_argument, NULL, 'h'},
                {0},
        };
        int option = 0;

        opterr = 0;
        while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
                if (option == 'h') {
                        job->is_help = true;
                        return 0;
                }
                if (option == '?')
                        return error_set(err, EINVAL, "%s: unknown, or without its value",
                                         argv[optind - 1]);
                if (!take_option(job, option, optarg))
                        return error_set(err, EINVAL, "%s: not a value of this option", optarg);
        }
        bool is_chosen = job->algorithm_count > 0;
        if (optind < argc)
                return error_set(err, EINVAL, "%s: not an option", argv[optind]);
        if (job->scenario_count == 0 && !job->is_list)
                return error_set(err, EINVAL, "--scenario is missing");
        if (job->is_world && job->scenario_count > 1)
                return error_set(err, EINVAL, "-o world: one scenario");
        for (size_t i = 0; !is_chosen && peers[i]; i++)
                job->algorithms[job->algorithm_count++] = peers[i];
        return 0;
}

static int load_policies(struct job *job, struct error *err) {
        int r = policy_load_file(job->crane_policy_file ? job->crane_policy_file : CRANE_POLICY,
                                 true, &job->policies[ALGORITHM_NEEDS_CRANE_POLICY], err);

        if (r == 0 && job->policy_file)
                r = policy_load_file(job->policy_file, false, &job->policies[ALGORITHM_NEEDS_MEANS],
                                     err);
        else if (r == 0)
                job->policies[ALGORITHM_NEEDS_MEANS] = policy_default();
        if (r == 0 && job->policies[ALGORITHM_NEEDS_MEANS]->scoring != POLICY_SCORING_ESTIMATE)
                r = error_set(err, EINVAL, "%s: spec.extender.scoring is not estimate",
                              job->policy_file);
        return r;
}

static void run_algorithm(const struct job *job, const struct scenario *scenario,
                          const struct algorithm *algorithm, struct result *result) {
        bool is_terminal = isatty(STDERR_FILENO) != 0;

        *result = (struct result){
                .scenario = scenario->name, .algorithm = algorithm->name, .count = job->seeds};
        for (uint64_t i = 0; i < job->seeds; i++) {
                if (is_terminal)
                        (void)fprintf(stderr, "\r%s, %s: seed %llu of %llu\033[K", scenario->name,
                                      algorithm->name, (unsigned long long)i + 1,
                                      (unsigned long long)job->seeds);
                result->outcomes[i] = simulate(scenario, algorithm, job->policies[algorithm->needs],
                                               job->first_seed + i);
        }
        if (is_terminal)
                (void)fprintf(stderr, "\r\033[K");
}

static void run_scenario(const struct job *job, const struct scenario *as_loaded, bool is_first) {
        struct scenario scenario = *as_loaded;
        _cleanup_(freep) struct result *result = xcalloc(1, sizeof(*result));
        _cleanup_(freep) struct result *base = xcalloc(1, sizeof(*base));

        scenario.measured_s = (int64_t)ceil((double)scenario.measured_s * job->scale);
        if (job->lag_s >= 0)
                scenario.watch_lag_s = job->lag_s;
        for (size_t a = 0; a < job->algorithm_count; a++) {
                run_algorithm(job, &scenario, job->algorithms[a], result);
                if (job->algorithms[a] == &algorithm_default)
                        *base = *result;
                const struct result *with = base->count > 0 ? base : NULL;
                if (job->is_json) {
                        (void)printf(is_first && a == 0 ? "[" : ",\n");
                        report_json(result, with);
                } else {
                        report_table_row(result, with);
                }
        }
}

static void run_scenarios(const struct job *job, const struct scenario *scenarios) {
        if (!job->is_json)
                report_table_head();
        for (size_t i = 0; i < job->scenario_count; i++)
                run_scenario(job, &scenarios[i], i == 0);
        if (job->is_json)
                (void)printf("]\n");
}

int main(int argc, char **argv) {
        static struct scenario scenarios[MAX_SCENARIOS];
        static struct job job = {.first_seed = 1, .seeds = 3, .scale = 1, .lag_s = -1};
        struct error err = ERROR_NULL;

        int r = parse_arguments(argc, argv, &job, &err);
        if (r == 0 && job.is_help) {
                print_help();
                return 0;
        }
        if (r == 0 && job.is_list) {
                list_algorithms();
                return 0;
        }
        if (r == 0)
                r = load_policies(&job, &err);
        for (size_t i = 0; r == 0 && i < job.scenario_count; i++) {
                r = scenario_load(job.scenarios[i], &scenarios[i], &err);
                if (r == 0)
                        r = scenario_load_traces(&scenarios[i], job.traces, &err);
        }
        if (r == 0 && job.is_world)
                report_world(&scenarios[0], job.first_seed);
        else if (r == 0)
                run_scenarios(&job, scenarios);
        for (size_t i = 0; i < ARRAY_LEN(job.policies); i++)
                policy_free(job.policies[i]);
        for (size_t i = 0; i < job.scenario_count; i++)
                scenario_done(&scenarios[i]);
        if (r < 0) {
                (void)fprintf(stderr, "placement: %s\n", err.msg);
                return 2;
        }
        return 0;
}
