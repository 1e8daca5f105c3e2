#include "extender/handlers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/mem.h"
#include "extender/answer/answer.h"
#include "extender/answer/reply.h"
#include "extender/answer/request.h"
#include "extender/decisions/decision_take.h"
#include "extender/decisions/decisions_page.h"

enum {
        /* A job with more candidates is freed: the pool keeps only jobs of usual size. */
        POOL_MAX_CANDIDATES = 1 << 14,
        /* A reply of at most this size is always sent; the number of connections limits them. */
        SMALL_REPLY_BYTES = 64 << 10,
        /* The limit for all larger replies in progress; further ones get 503. */
        SENDING_MAX_BYTES = 32 << 20,
        REFUSALS_PER_MIN = 1, /* logged */
        MORE_NODES = 1000,    /* in a request than most_nodes() counts */
};

/* The working memory of one request. */
struct job {
        struct job *next;
        struct node_snapshot *snapshot; /* NULL: the request is being read */
        struct request request;
        struct answer answer;
        struct reply *reply; /* in the parcel */
};

/* A reply that is being sent. */
struct parcel {
        struct handlers *handlers;
        size_t sending_bytes; /* its part of handlers->sending_bytes; 0: it is small */
        struct reply reply;
};

static const int statuses[] = {200, 400, 413, 500, 503};

struct verb_metrics {
        struct metrics_series *answers[ARRAY_LEN(statuses)], *duration;
};

enum { VERB_COUNT = 4 };

/* A verb. Its name is the last segment of the path. */
struct verb {
        const char *name;
        int (*parse)(struct request *request, const char *body, size_t body_bytes, size_t max_nodes,
                     struct error *err);
        /* Judges the candidates and fills the reply; false if the reply is too large. NULL: the
         * binder answers, if there is one. */
        bool (*act)(struct handlers *handlers, struct job *job, int64_t now_unix_ms);
};

struct handlers {
        struct handlers_parts parts;
        pthread_mutex_t pool_lock;   /* the pool, before and after the work */
        struct job *pool;            /* idle ones: at most one for each worker */
        atomic_size_t sending_bytes; /* see SENDING_MAX_BYTES */
        struct log_limit refusals;

        struct verb_metrics verbs[VERB_COUNT];
        struct metrics_series *last_call;
        struct metrics_series *passed, *unknown, *duplicates, *daemonset, *all_over;
        struct metrics_series *scored_current, *scored_expired;        /* with scoring: estimate */
        struct metrics_series *lists[JUDGE_LIST_SHORT + 1], *left_out; /* except for whole lists */
};

/* The verbs */

static void count_rejections(const struct job *job) {
        const struct table_policy *in_force = job->snapshot->table_policy;
        const struct judge_filtered *filtered = &job->answer.judge.filtered;

        if (filtered->rejected_count == 0) /* no node was over a limit, or all were and passed */
                return;
        for (size_t i = 0; i < in_force->policy->predicate_total; i++)
                if (filtered->over_count[i] > 0)
                        metrics_add(in_force->rejected[i], filtered->over_count[i]);
}

static void keep(struct decisions *decisions, const struct job *job,
                 void (*take)(const struct answer *answer, struct decision *decision)) {
        struct decision_pod pod;

        if (!decisions || !decision_take_pod(&job->request.pod, &pod))
                return;
        struct decision *decision = decisions_open(decisions, &pod);
        if (!decision)
                return;
        take(&job->answer, decision);
        decisions_close(decisions);
}

static bool filter(struct handlers *handlers, struct job *job, int64_t now_unix_ms) {
        const struct judge *judge = &job->answer.judge;

        answer_filter(&job->answer, job->snapshot, &job->request, now_unix_ms);
        answer_shortlist(&job->answer, clock_mono_ms());
        metrics_add(handlers->passed, judge->question.count - judge->filtered.rejected_count -
                                              judge->question.duplicate_count);
        count_rejections(job);
        if (job->request.pod.is_daemonset)
                metrics_inc(handlers->daemonset);
        if (judge->filtered.is_all_over)
                metrics_inc(handlers->all_over);
        if (job->answer.list != JUDGE_LIST_WHOLE)
                metrics_inc(handlers->lists[job->answer.list]);
        metrics_add(handlers->left_out, judge->filtered.left_out_count);
        if (!reply_filter(job->reply, &job->answer))
                return false;
        keep(handlers->parts.decisions, job, decision_take_filter);
        return true;
}

static void count_scored(struct handlers *handlers, const struct judge *judge) {
        const struct judge_question *question = &judge->question;
        size_t scored = question->count - question->unknown_count - question->duplicate_count;

        metrics_add(handlers->scored_expired, judge->scored.old_count);
        metrics_add(handlers->scored_current, scored - judge->scored.old_count);
}

static bool prioritize(struct handlers *handlers, struct job *job, int64_t now_unix_ms) {
        answer_score(&job->answer, job->snapshot, &job->request, now_unix_ms, clock_mono_ms());
        if (job->snapshot->nodes.policy->scoring == POLICY_SCORING_ESTIMATE)
                count_scored(handlers, &job->answer.judge);
        if (!reply_prioritize(job->reply, &job->answer))
                return false;
        keep(handlers->parts.decisions, job, decision_take_ranking);
        return true;
}

/*
 * The scheduler chooses victims only by its own filters. On a node that is both full and hot, it
 * would evict pods, although filter rejects the node afterwards, and then continue with the next
 * node.
 */
static bool preempt(struct handlers *handlers, struct job *job, int64_t now_unix_ms) {
        (void)handlers;
        answer_filter(&job->answer, job->snapshot, &job->request, now_unix_ms);
        return reply_preempt(job->reply, &job->answer);
}

static const struct verb verbs[] = {
        {"filter", request_parse, filter},
        {"prioritize", request_parse, prioritize},
        {"preempt", request_parse_preemption, preempt},
        {"bind", NULL, NULL},
};

static_assert(ARRAY_LEN(verbs) == VERB_COUNT, "metrics are kept for each verb");

/* Metrics, jobs and requests */

static bool has_verb(const struct handlers *handlers, const struct verb *verb) {
        return verb->act || handlers->parts.binder;
}

static struct verb_metrics *metrics_of(struct handlers *handlers, const struct verb *verb) {
        return &handlers->verbs[verb - verbs];
}

static struct metrics_series *scored_counter(struct metrics *metrics, const char *reading) {
        return metrics_counter(
                metrics, "plimsoll_extender_scored_candidates_total",
                "Candidates scored by estimate, by their readings: current, or expired "
                "or missing.",
                LABELS("reading", reading));
}

static struct metrics_series *list_counter(struct metrics *metrics, const char *list) {
        return metrics_counter(
                metrics, "plimsoll_extender_shortlists_total",
                "Filter calls with more passing candidates than places on the shortlist, by the "
                "list "
                "in the answer: short, or whole for a pod with preferences or for a retried pod.",
                LABELS("list", list));
}

static void count_answer(struct handlers *handlers, const struct verb *verb, int status) {
        for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
                if (statuses[i] == status)
                        metrics_inc(metrics_of(handlers, verb)->answers[i]);
}

static void register_verb(struct handlers *handlers, struct metrics *metrics,
                          const struct verb *verb) {
        struct verb_metrics *of = metrics_of(handlers, verb);

        for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
                _cleanup_(freep) char *code = xasprintf("%d", statuses[i]);
                of->answers[i] = metrics_counter(metrics, "plimsoll_extender_requests_total",
                                                 "Answered requests by verb and HTTP status.",
                                                 LABELS("verb", verb->name, "code", code));
        }
        of->duration = metrics_histogram(
                metrics, "plimsoll_extender_request_duration_seconds",
                "Time from the last byte of a request to the first byte of "
                "its reply.",
                LABELS("verb", verb->name), &metrics_duration_bounds);
}

static void handlers_register_metrics(struct handlers *handlers, struct metrics *metrics) {
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                if (has_verb(handlers, &verbs[i]))
                        register_verb(handlers, metrics, &verbs[i]);
        handlers->last_call = metrics_gauge(
                metrics, "plimsoll_extender_last_call_timestamp_seconds",
                "Time of the last call of a scheduler; 0: no call since the start.", NULL);
        handlers->passed = metrics_counter(metrics, TABLE_POLICY_VERDICTS_NAME,
                                           TABLE_POLICY_VERDICTS_HELP, LABELS("predicate", "none"));
        handlers->unknown = metrics_counter(
                metrics, "plimsoll_extender_unknown_nodes_total",
                "Candidates that are not in the node table; they pass, with a score of 0.", NULL);
        handlers->duplicates = metrics_counter(metrics, "plimsoll_extender_duplicate_nodes_total",
                                               "Candidates that occur twice in a request.", NULL);
        handlers->daemonset = metrics_counter(metrics, "plimsoll_extender_daemonset_pods_total",
                                              "Filter calls for pods of DaemonSets, to which no "
                                              "limit applies.",
                                              NULL);
        handlers->all_over = metrics_counter(
                metrics, "plimsoll_extender_all_over_total",
                "Filter calls in which every candidate was over a limit, so all passed "
                "(whenAllOver: pass).",
                NULL);
        for (int list = JUDGE_LIST_WHOLE + 1; list <= JUDGE_LIST_SHORT; list++)
                handlers->lists[list] = list_counter(metrics, answer_list_names[list]);
        handlers->left_out = metrics_counter(
                metrics, "plimsoll_extender_left_out_candidates_total",
                "Candidates that passed, but are not on the shortlist.", NULL);
        handlers->scored_current = scored_counter(metrics, "current");
        handlers->scored_expired = scored_counter(metrics, "expired");
}

struct handlers *handlers_new(const struct handlers_parts *parts) {
        struct handlers *handlers = xcalloc(1, sizeof(*handlers));

        handlers->parts = *parts;
        (void)pthread_mutex_init(&handlers->pool_lock, NULL);
        handlers_register_metrics(handlers, parts->daemon->metrics);
        return handlers;
}

static void job_free(struct job *job) {
        request_done(&job->request);
        answer_done(&job->answer);
        free(job);
}

void handlers_free(struct handlers *handlers) {
        if (!handlers)
                return;
        while (handlers->pool) {
                struct job *job = handlers->pool;
                handlers->pool = job->next;
                job_free(job);
        }
        (void)pthread_mutex_destroy(&handlers->pool_lock);
        free(handlers);
}

static struct job *job_take(struct handlers *handlers) {
        (void)pthread_mutex_lock(&handlers->pool_lock);
        struct job *job = handlers->pool;
        if (job)
                handlers->pool = job->next;
        (void)pthread_mutex_unlock(&handlers->pool_lock);
        return job ? job : xcalloc(1, sizeof(*job));
}

static void job_give_back(struct handlers *handlers, struct job *job) {
        request_reset(&job->request);
        if (job->request.cap > POOL_MAX_CANDIDATES) {
                job_free(job);
                return;
        }
        (void)pthread_mutex_lock(&handlers->pool_lock);
        job->next = handlers->pool;
        handlers->pool = job;
        (void)pthread_mutex_unlock(&handlers->pool_lock);
}

static struct parcel *parcel_new(struct handlers *handlers) {
        struct parcel *parcel = xcalloc(1, sizeof(*parcel));

        parcel->handlers = handlers;
        reply_init(&parcel->reply);
        return parcel;
}

/* The release function of an http_exchange: the reply has been sent. */
static void parcel_free(void *userdata) {
        struct parcel *parcel = userdata;

        atomic_fetch_sub(&parcel->handlers->sending_bytes, parcel->sending_bytes);
        reply_done(&parcel->reply);
        free(parcel);
}

/* There is memory for the reply until it has been sent. */
static bool parcel_is_admitted(struct parcel *parcel) {
        atomic_size_t *sending_bytes = &parcel->handlers->sending_bytes;
        size_t bytes = reply_memory_bytes(&parcel->reply);

        if (bytes <= SMALL_REPLY_BYTES)
                return true;
        parcel->sending_bytes = bytes;
        return atomic_fetch_add(sending_bytes, bytes) + bytes <= SENDING_MAX_BYTES;
}

/* Any client can send garbage as fast as the network allows. */
static void log_refusal(struct handlers *handlers, const struct http_exchange *exchange,
                        const struct error *err) {
        uint64_t unlogged;

        if (log_limit_allows(&handlers->refusals, REFUSALS_PER_MIN, clock_mono_ms(), &unlogged))
                log_warn(MSG("request refused"), STR("path", exchange->path),
                         INT("body_bytes", exchange->body_bytes), ERR(err),
                         INT("unlogged", unlogged));
}

static void log_request(const struct job *job, const struct verb *verb) {
        const struct request *request = &job->request;
        const struct judge *judge = &job->answer.judge;
        const struct pod_facts *pod = &request->pod;
        _cleanup_(freep) char *namespace = xmemdup0(pod->namespace.text, pod->namespace.len);
        _cleanup_(freep) char *name = xmemdup0(pod->name.text, pod->name.len);

        log_debug(MSG("request"), STR("verb", verb->name), STR("namespace", namespace),
                  STR("pod", name), INT("candidates", request->count),
                  INT("rejected", judge->filtered.rejected_count),
                  INT("left_out", judge->filtered.left_out_count),
                  INT("unknown", judge->question.unknown_count),
                  INT("reply_bytes", job->reply->bytes));
}

static void refuse(struct handlers *handlers, const struct verb *verb,
                   struct http_exchange *exchange, int code, const struct error *err) {
        exchange->status = code == -E2BIG ? 413 : code == -EBUSY ? 503 : 400;
        count_answer(handlers, verb, exchange->status);
        log_refusal(handlers, exchange, err);
}

/* The binder counts the results of binds. */
static void answer_bind(struct handlers *handlers, const struct verb *verb,
                        struct http_exchange *exchange) {
        struct error err = ERROR_NULL;

        int r = binder_answer(handlers->parts.binder, exchange, &err);
        if (r < 0) {
                refuse(handlers, verb, exchange, r, &err);
                return;
        }
        count_answer(handlers, verb, 200);
}

static void judge_request(struct handlers *handlers, const struct verb *verb, struct job *job,
                          struct http_exchange *exchange) {
        struct parcel *parcel = parcel_new(handlers);
        struct error err = ERROR_NULL;

        job->reply = &parcel->reply;
        exchange->release = parcel_free;
        exchange->release_userdata = parcel;
        /* The newest snapshot, now that the request has been read, which may take long. */
        job->snapshot = node_table_acquire(handlers->parts.table);
        bool has_reply = verb->act(handlers, job, clock_wall_unix_ms());
        node_snapshot_unref(TAKE_PTR(job->snapshot));
        if (!has_reply) {
                count_answer(handlers, verb, 500); /* reply too large: without a body */
                return;
        }
        if (!parcel_is_admitted(parcel)) {
                refuse(handlers, verb, exchange,
                       error_set(&err, EBUSY, "clients have not read %d MiB of replies",
                                 SENDING_MAX_BYTES >> 20),
                       &err);
                return;
        }
        const struct judge_question *question = &job->answer.judge.question;
        if (question->unknown_count > 0)
                metrics_add(handlers->unknown, question->unknown_count);
        if (question->duplicate_count > 0)
                metrics_add(handlers->duplicates, question->duplicate_count);
        exchange->status = 200;
        exchange->reply_content_type = "application/json";
        exchange->reply = parcel->reply.pieces;
        exchange->reply_count = parcel->reply.count;
        count_answer(handlers, verb, 200);
        if (handlers->parts.is_debug)
                log_request(job, verb);
}

/* A scheduler may know nodes before we do, but not as many again. Of a list that has not arrived,
 * nothing is known. */
static size_t most_nodes(struct handlers *handlers) {
        struct node_snapshot *snapshot = node_table_acquire(handlers->parts.table);
        size_t count = snapshot->nodes.count;

        node_snapshot_unref(snapshot);
        return count > 0 ? size_min(2 * count + MORE_NODES, REQUEST_MAX_NODES) : REQUEST_MAX_NODES;
}

static void answer_verb(struct handlers *handlers, const struct verb *verb,
                        struct http_exchange *exchange) {
        int64_t begin_ns = clock_mono_ns();
        struct job *job = job_take(handlers);
        struct error err = ERROR_NULL;

        int r = verb->parse(&job->request, exchange->body, exchange->body_bytes,
                            most_nodes(handlers), &err);
        job->request.is_held_back = handlers->parts.trial &&
                                    trial_holds_back(handlers->parts.trial, &job->request.pod);
        if (r < 0)
                refuse(handlers, verb, exchange, r, &err);
        else
                judge_request(handlers, verb, job, exchange);
        job_give_back(handlers, job);
        if (exchange->status == 200)
                metrics_observe(metrics_of(handlers, verb)->duration,
                                (double)(clock_mono_ns() - begin_ns) / 1e9);
}

/* The verb is the last segment of the path. A configured verb "/filter" becomes "//filter", and
 * prefixes and verbs may end with a slash. */
static const struct verb *find_verb(const struct handlers *handlers, const char *path) {
        size_t end = strlen(path);

        while (end > 0 && path[end - 1] == '/')
                end--;
        size_t begin = end;
        while (begin > 0 && path[begin - 1] != '/')
                begin--;
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                if (has_verb(handlers, &verbs[i]) && end - begin == strlen(verbs[i].name) &&
                    memcmp(path + begin, verbs[i].name, end - begin) == 0)
                        return &verbs[i];
        return NULL;
}

static bool answer_page(const struct handlers_parts *parts, struct http_exchange *exchange) {
        return daemon_pages(parts->daemon, exchange) ||
               (parts->decisions &&
                decisions_page(parts->decisions, parts->decisions_list, exchange)) ||
               shared_page_serve(parts->nodes_page, "/nodes", exchange) ||
               explain_page(parts->explain_page, exchange) ||
               shared_page_serve(parts->trial_page, "/trial", exchange);
}

void handlers_answer_page(void *userdata, struct http_exchange *exchange) {
        const struct handlers *handlers = userdata;

        if (!answer_page(&handlers->parts, exchange))
                exchange->status = 404;
}

void handlers_answer(void *userdata, struct http_exchange *exchange) {
        struct handlers *handlers = userdata;
        const struct verb *verb = find_verb(handlers, exchange->path);

        if (answer_page(&handlers->parts, exchange))
                return;
        if (!verb) {
                exchange->status = 404;
                return;
        }
        if (!http_takes(exchange, "POST"))
                return;
        metrics_set(handlers->last_call, (double)clock_wall_unix_ms() / (double)MS_PER_S);
        if (handlers->parts.trial)
                trial_asked(handlers->parts.trial, clock_wall_unix_ms());
        if (!verb->act)
                answer_bind(handlers, verb, exchange);
        else
                answer_verb(handlers, verb, exchange);
}
