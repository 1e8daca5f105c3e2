#include "policy/estimate/workload.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "base/strmap.h"

static const double CORES_MIN = 0.005, CORES_MAX = 10000; /* of one pod */
static const double NOISE_RATIO = 0.03;    /* of a node's capacity: changes that no pod explains */
static const double PRIOR_SIGMA_RATIO = 2; /* of the request */
/* Observations that deviate further than this from the prior overrule the request. */
static const double DOUBT_SIGMAS = 2;
/* Confidence is 0.5 if theta is known to a tenth: three standard errors are 30% of it. */
static const double CONFIDENCE_SIGMAS = 5;
static const double DRIFT_RATIO = 0.2; /* of theta, in an hour */
static const double SURPRISE_MAX_SIGMAS = 3;
/* The standard deviation, as a share of the expectation, for a pod of an unknown workload. */
static const double UNKNOWN_SIGMA_RATIO[ESTIMATE_RESOURCE_COUNT] = {2, 0.5};
static const double LOAD_VARIANCE_RATIO = 0.1; /* pods of a workload differ by a third; squared */

static double squared(double x) {
        return x * x;
}

struct workload {
        TAILQ_ENTRY(workload) age; /* in the set's list `idle` while it has no reference */
        char *name;
        size_t name_len;
        uint32_t holders;
        uint32_t observations;
        uint32_t teachers[WORKLOAD_TEACHERS]; /* the teachers of the last lessons; 0: none yet */
        uint8_t next_teacher, refused;        /* refused: lessons not taken since the last one */
        int8_t surprised; /* by the last lesson: 1: far above expectation, -1: far below */
        bool is_doubtful; /* all lessons were */
        double weight, weighted_cores; /* W and Y of workload.h */
        double cores;                  /* theta, as of the last correction */
        double variance;               /* P */
        double request_cores;
        size_t pods;               /* live ones */
        double pods_request_cores; /* of all live pods together */
        int64_t learned_unix_ms;   /* when it was last corrected */
};

struct workload_set {
        struct strmap by_name;
        TAILQ_HEAD(, workload) idle; /* the least recently used first */
};

struct workload_set *workload_set_new(void) {
        struct workload_set *set = xcalloc(1, sizeof(*set));

        TAILQ_INIT(&set->idle);
        return set;
}

static void workload_forget(struct workload_set *set, struct workload *workload) {
        (void)strmap_remove(&set->by_name, workload->name, workload->name_len);
        free(workload->name);
        free(workload);
}

void workload_set_free(struct workload_set *set) {
        struct strmap_entry *entry;

        if (!set)
                return;
        STRMAP_FOREACH (entry, &set->by_name) {
                struct workload *workload = entry->value;
                free(workload->name);
                free(workload);
        }
        strmap_done(&set->by_name);
        free(set);
}

static struct workload *workload_begin(struct workload_set *set, const char *name, size_t name_len,
                                       const struct pod_load *request) {
        struct workload *workload = xcalloc(1, sizeof(*workload));
        double cores = pod_load_counted(request).of[ESTIMATE_CPU];

        workload->name = xmemdup0(name, name_len);
        workload->name_len = name_len;
        workload->request_cores = cores;
        (void)strmap_put(&set->by_name, name, name_len, workload);
        return workload;
}

/* Forget the workload that has been without references for the longest time, if there is one. */
static void forget_longest_idle(struct workload_set *set) {
        struct workload *oldest = TAILQ_FIRST(&set->idle);

        if (!oldest)
                return;
        TAILQ_REMOVE(&set->idle, oldest, age);
        workload_forget(set, oldest);
}

struct workload *workload_set_get(struct workload_set *set, const char *name, size_t name_len,
                                  const struct pod_load *request) {
        struct workload *workload = strmap_get(&set->by_name, name, name_len);

        if (!workload) {
                if (set->by_name.len >= WORKLOADS_MAX)
                        forget_longest_idle(set);
                workload = workload_begin(set, name, name_len, request);
        } else if (workload->holders == 0) {
                TAILQ_REMOVE(&set->idle, workload, age);
        }
        workload->holders++;
        return workload;
}

const struct workload *workload_set_find(const struct workload_set *set, const char *name,
                                         size_t name_len) {
        return strmap_get(&set->by_name, name, name_len);
}

struct workload *workload_hold(struct workload *workload) {
        if (workload)
                workload->holders++;
        return workload;
}

void workload_unref(struct workload_set *set, struct workload *workload) {
        if (!workload)
                return;
        assert(workload->holders > 0);
        if (--workload->holders > 0)
                return;
        if (workload->observations == 0) {
                workload_forget(set, workload);
                return;
        }
        TAILQ_INSERT_TAIL(&set->idle, workload, age);
        if (set->by_name.len > WORKLOADS_MAX)
                forget_longest_idle(set);
}

size_t workload_set_count(const struct workload_set *set) {
        return set->by_name.len;
}

bool workload_is_learned(const struct workload *workload) {
        return workload->observations > 0;
}

double workload_confidence(const struct workload *workload) {
        if (workload->is_doubtful)
                return 0;
        return fmax(0, 1 - CONFIDENCE_SIGMAS * sqrt(workload->variance) / workload->cores);
}

void workload_count(struct workload *workload, int pods, const struct pod_load *request) {
        if (!workload)
                return;
        workload->pods += (size_t)pods;
        workload->pods_request_cores += pods * request->of[ESTIMATE_CPU];
}

static struct workload_facts facts_of(const struct workload *workload) {
        bool is_learned = workload_is_learned(workload);

        return (struct workload_facts){
                .name = workload->name,
                .name_len = workload->name_len,
                .pods = workload->pods,
                .request_cores = workload->pods > 0
                                         ? workload->pods_request_cores / (double)workload->pods
                                         : workload->request_cores,
                .is_learned = is_learned,
                .learned_cores = is_learned ? workload->cores : 0,
                .confidence = is_learned ? workload_confidence(workload) : 0,
        };
}

void workload_set_each(const struct workload_set *set,
                       void (*fn)(void *userdata, const struct workload_facts *facts),
                       void *userdata) {
        const struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &set->by_name) {
                const struct workload_facts facts = facts_of(entry->value);
                fn(userdata, &facts);
        }
}

void workload_set_import(struct workload_set *set, const struct workload_facts *facts) {
        const struct pod_load request = {{[ESTIMATE_CPU] = facts->request_cores}};

        if (!facts->is_learned)
                return;
        struct workload *workload = workload_set_get(set, facts->name, facts->name_len, &request);
        workload->cores = facts->learned_cores;
        workload->variance = squared((1 - facts->confidence) * facts->learned_cores /
                                     CONFIDENCE_SIGMAS);
        workload->observations = 1;
        workload_unref(set, workload);
}

/* Old observations lose weight with the time since the last change of pods. */
static void drift_until(struct workload *workload, int64_t now_unix_ms) {
        double hours = (double)(now_unix_ms - workload->learned_unix_ms) / 3600000;
        double kept = 1;

        if (hours > 0)
                kept = 1 / (1 + workload->weight * hours * squared(DRIFT_RATIO * workload->cores));
        workload->weight *= kept;
        workload->weighted_cores *= kept;
        workload->learned_unix_ms = now_unix_ms;
}

/* Compute theta and P from the observations and the prior. */
static void conclude(struct workload *workload, const struct load_factor *factor) {
        double prior = fmax(CORES_MIN, factor->ratio[ESTIMATE_CPU] * workload->request_cores);
        double prior_variance = squared(PRIOR_SIGMA_RATIO * fmax(prior, workload->request_cores));
        double weight = workload->weight;

        if (weight > 0) {
                double away = workload->weighted_cores / weight - prior;
                prior_variance = fmax(prior_variance,
                                      squared(away) - squared(DOUBT_SIGMAS) / weight);
        }
        workload->variance = 1 / (1 / prior_variance + weight);
        workload->cores = workload->variance * (prior / prior_variance + workload->weighted_cores);
        workload->cores = fmin(fmax(CORES_MIN, workload->cores), CORES_MAX);
}

/* Forget all observations. */
static void unlearn(struct workload *workload) {
        workload->weight = workload->weighted_cores = 0;
        workload->observations = 0;
        workload->is_doubtful = false;
}

/* Return: false: the node has given its share of the last lessons */
static bool may_teach(struct workload *workload, uint32_t teacher) {
        size_t own = 0, nodes = 0;

        for (size_t i = 0; i < WORKLOAD_TEACHERS; i++) {
                uint32_t of = workload->teachers[i];
                size_t first = 0;
                while (workload->teachers[first] != of)
                        first++;
                own += of == teacher;
                nodes += of != 0 && first == i;
        }
        if (own * nodes > WORKLOAD_TEACHERS && workload->refused < WORKLOAD_TEACHERS) {
                workload->refused++;
                return false;
        }
        workload->refused = 0;
        workload->teachers[workload->next_teacher] = teacher;
        workload->next_teacher = (uint8_t)((workload->next_teacher + 1) % WORKLOAD_TEACHERS);
        return true;
}

/* Return: false: the lesson is doubtful, and better ones were taken */
static bool take_lesson(struct workload *workload, const struct workload_lesson *lesson) {
        if (lesson->is_doubtful && workload->observations > 0 && !workload->is_doubtful)
                return false;
        if (!lesson->is_doubtful && workload->is_doubtful)
                unlearn(workload);
        workload->is_doubtful = lesson->is_doubtful;
        return true;
}

/* One surprise beyond the limit may be an outlier. After a second one in the same direction, older
 * observations lose weight. */
static void doubt_if_repeated(struct workload *workload, int side) {
        if (side != 0 && side == workload->surprised) {
                workload->weight /= 2;
                workload->weighted_cores /= 2;
        }
        workload->surprised = (int8_t)side;
}

void workload_learn(const struct workload_change *changes, size_t count,
                    const struct workload_lesson *lesson, const struct load_factor *factor) {
        double surprise = lesson->cores;
        double variance = squared(NOISE_RATIO * lesson->capacity);

        for (size_t i = 0; i < count; i++) {
                struct workload *workload = changes[i].workload;
                drift_until(workload, lesson->at_unix_ms);
                conclude(workload, factor);
                surprise -= changes[i].pods * workload->cores;
                variance += squared(changes[i].pods) *
                            (workload->variance + LOAD_VARIANCE_RATIO * squared(workload->cores));
        }
        if (!isfinite(surprise) || !isfinite(variance) || !(variance > 0))
                return;
        double limit = SURPRISE_MAX_SIGMAS * sqrt(variance);
        int side = surprise > limit ? 1 : surprise < -limit ? -1 : 0;
        surprise = fmin(fmax(surprise, -limit), limit);
        for (size_t i = 0; i < count; i++) {
                struct workload *workload = changes[i].workload;
                double pods = changes[i].pods, before = workload->cores;
                double others = variance - squared(pods) * workload->variance;
                if (pods == 0 || !(others > 0) || !may_teach(workload, lesson->teacher) ||
                    !take_lesson(workload, lesson))
                        continue;
                doubt_if_repeated(workload, pods > 0 ? side : -side);
                workload->weight += squared(pods) / others;
                workload->weighted_cores += pods * (surprise + pods * before) / others;
                workload->observations += workload->observations < UINT32_MAX;
                conclude(workload, factor);
        }
}

void workload_set_forget_doubtful(struct workload_set *set) {
        const struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &set->by_name) {
                struct workload *workload = entry->value;
                if (!workload->is_doubtful)
                        continue;
                unlearn(workload);
                if (workload->holders == 0) {
                        TAILQ_REMOVE(&set->idle, workload, age);
                        workload_forget(set, workload);
                }
        }
}

struct pod_load workload_estimate(const struct workload *workload, const struct pod_load *request,
                                  const struct load_factor *factor, struct pod_load *ret_variance) {
        struct pod_load load = pod_load_counted(request), variance;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                load.of[r] *= factor->ratio[r];
                variance.of[r] = pow(UNKNOWN_SIGMA_RATIO[r] * load.of[r], 2);
        }
        if (workload && workload->observations > 0) {
                load.of[ESTIMATE_CPU] = workload->cores;
                variance.of[ESTIMATE_CPU] = workload->variance;
        }
        if (ret_variance)
                *ret_variance = variance;
        return load;
}
