#include "controller/source/prometheus/prometheus_backfill.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
        POINTS_FIRST = 10, /* of each series in the first piece: their number is not known yet */
        POINTS_MAX = 60,   /* of each series in any piece */
        ANSWER_POINTS_MAX = 60000, /* of all series together: some 2 MB of text */
        RETRY_MS = 5000,
        RETRIES_MAX = 3, /* in a row, each with half of the points */
        FINE_STEP_MS = MS_PER_MIN,
        COARSE_STEP_MS = 5 * MS_PER_MIN,
};

/* A resource whose history is being read, or is still to be read. */
struct job {
        unsigned resource;
        int64_t reach_ms;
        int64_t done_ms; /* how much of it has been read, counted back from now_unix_s */
        double now_unix_s;
        int64_t now_mono_ms; /* the same moment */
        size_t points_max;   /* of each series in the next piece */
        size_t points_cap;   /* largest points_max: halved by each failure */
        size_t points, pieces;
        int64_t began_mono_ms;
};

struct prometheus_backfill {
        struct loop *loop;
        struct prometheus_api *api;
        struct prometheus_backfill_options options;
        struct job jobs[WINDOW_MAX_CHANNELS];
        size_t job_count;
        unsigned retries;
        int64_t piece_ms; /* of the piece under way */
        struct prometheus_call *call;
        struct loop_timer next;
        struct metrics_series *points;
};

static void ask_history(void *userdata);

static void ask_history_at(struct prometheus_backfill *backfill, int64_t mono_ms) {
        loop_timer_arm(backfill->loop, &backfill->next, mono_ms, ask_history, backfill);
}

static void end_job(struct prometheus_backfill *backfill) {
        unsigned resource = backfill->jobs[0].resource;

        backfill->job_count--;
        for (size_t i = 0; i < backfill->job_count; i++)
                backfill->jobs[i] = backfill->jobs[i + 1];
        backfill->retries = 0;
        if (backfill->job_count > 0)
                ask_history_at(backfill, loop_now_mono_ms(backfill->loop));
        backfill->options.on_done(backfill->options.userdata, resource);
}

static void take_history(struct prometheus_backfill *backfill, struct job *job,
                         struct prometheus_reply *reply) {
        const struct metric_query mean = {
                .resource = job->resource, .statistic = METRIC_AVG, .window_ms = WINDOW_MEAN_MS};
        const struct source_sink *sink = backfill->options.sink;
        struct prometheus_round *round = backfill->options.round;
        char name[METRIC_NAME_MAX + 1];
        struct prometheus_series series;
        struct prometheus_point point;
        size_t series_count = 0;
        double present_unix_s = job->now_unix_s +
                                (double)(loop_now_mono_ms(backfill->loop) - job->now_mono_ms) /
                                        1000;

        promql_mean_name(&round->promql, job->resource, name);
        while (prometheus_reply_next(reply, &series)) {
                bool is_recorded = strcmp(series.labels[PROMETHEUS_NAME], name) == 0;
                struct node *node = prometheus_round_find(round, &series);
                series_count++;
                while (node && prometheus_series_next(&series, &point)) {
                        double age_s = present_unix_s - point.at_unix_s, ratio = 0;
                        /* Outside of what was queried: Prometheus' clock was set. */
                        if (!(age_s >= 0 && age_s <= 2.0 * PROMETHEUS_BACKFILL_LONGEST_MS / 1000))
                                continue;
                        job->points++;
                        metrics_inc(backfill->points);
                        if (prometheus_round_ratio(round, is_recorded, point.value, &ratio))
                                sink->on_peak(sink, node, &mean, ratio, (int64_t)(age_s * 1000));
                }
        }
        size_t fitting = ANSWER_POINTS_MAX / size_max(series_count, 1);
        job->points_max = size_max(size_min(fitting, job->points_cap), 1);
}

static void on_history_answer(void *userdata, const struct prometheus_answer *answer) {
        struct prometheus_backfill *backfill = userdata;
        struct job *job = &backfill->jobs[0];
        const char *resource = policy_resource_name(backfill->options.round->promql.policy,
                                                    job->resource);

        backfill->call = NULL;
        if (answer->failure) {
                if (++backfill->retries > RETRIES_MAX) {
                        log_warn(MSG("cannot read history from Prometheus, windows start empty"),
                                 STR("resource", resource), INT("read_s", job->done_ms / 1000),
                                 STR("reason", answer->failure), ERR(&answer->err));
                        end_job(backfill);
                        return;
                }
                job->points_max = job->points_cap = size_max(job->points_max / 2, 1);
                ask_history_at(backfill, loop_now_mono_ms(backfill->loop) +
                                                 RETRY_MS * (int64_t)backfill->retries);
                return;
        }
        struct prometheus_reply reply = answer->reply;
        take_history(backfill, job, &reply);
        backfill->retries = 0;
        job->pieces++;
        job->done_ms += backfill->piece_ms;
        if (job->done_ms < job->reach_ms) {
                ask_history_at(
                        backfill,
                        loop_now_mono_ms(backfill->loop)); /* after other events of the loop */
                return;
        }
        log_info(MSG("read history from Prometheus"), STR("resource", resource),
                 INT("hours", job->reach_ms / MS_PER_HOUR), INT("queries", job->pieces),
                 INT("points", job->points),
                 F64("seconds",
                     (double)(loop_now_mono_ms(backfill->loop) - job->began_mono_ms) / 1000));
        end_job(backfill);
}

/* Queries the next piece: a point per minute in the last hour, one per five minutes before it. */
static void ask_history(void *userdata) {
        struct prometheus_backfill *backfill = userdata;
        struct job *job = &backfill->jobs[0];
        struct buf query = BUF_INIT(PROMQL_MAX_BYTES);
        bool is_fine = job->done_ms < MS_PER_HOUR;
        int64_t step_ms = is_fine ? FINE_STEP_MS : COARSE_STEP_MS;
        int64_t end_ms = is_fine && job->reach_ms > MS_PER_HOUR ? MS_PER_HOUR : job->reach_ms;

        if (job->began_mono_ms == 0)
                job->began_mono_ms = loop_now_mono_ms(backfill->loop);
        backfill->piece_ms = step_ms * (int64_t)job->points_max;
        if (backfill->piece_ms > end_ms - job->done_ms) /* in whole steps */
                backfill->piece_ms = (end_ms - job->done_ms + step_ms - 1) / step_ms * step_ms;
        double to_unix_s = job->now_unix_s - (double)job->done_ms / 1000;
        (void)promql_history(&backfill->options.round->promql, job->resource, step_ms, &query);
        backfill->call = prometheus_ask(
                backfill->api,
                &(struct prometheus_question){
                        .query = query.data,
                        /* A range query includes both ends; the older end is the next piece's. */
                        .from_unix_s = to_unix_s - (double)(backfill->piece_ms - step_ms) / 1000,
                        .to_unix_s = to_unix_s,
                        .step_ms = step_ms,
                        .on_answer = on_history_answer,
                        .userdata = backfill,
                });
        buf_done(&query);
}

void prometheus_backfill_add(struct prometheus_backfill *backfill, unsigned resource,
                             int64_t reach_ms, double now_unix_s) {
        assert(backfill->job_count < WINDOW_MAX_CHANNELS);
        backfill->jobs[backfill->job_count++] = (struct job){
                .resource = resource,
                .reach_ms = reach_ms < PROMETHEUS_BACKFILL_LONGEST_MS
                                    ? reach_ms
                                    : PROMETHEUS_BACKFILL_LONGEST_MS,
                .now_unix_s = now_unix_s,
                .now_mono_ms = loop_now_mono_ms(backfill->loop),
                .points_max = POINTS_FIRST,
                .points_cap = POINTS_MAX,
        };
        if (backfill->job_count == 1)
                ask_history_at(backfill, loop_now_mono_ms(backfill->loop));
}

void prometheus_backfill_drop(struct prometheus_backfill *backfill) {
        prometheus_cancel(backfill->call);
        backfill->call = NULL;
        backfill->job_count = 0;
        backfill->retries = 0;
        loop_timer_disarm(backfill->loop, &backfill->next);
}

struct prometheus_backfill *prometheus_backfill_new(
        struct loop *loop, struct prometheus_api *api, struct metrics *metrics,
        const struct prometheus_backfill_options *options) {
        struct prometheus_backfill *backfill = xcalloc(1, sizeof(*backfill));

        backfill->loop = loop;
        backfill->api = api;
        backfill->options = *options;
        backfill->points = metrics_counter(metrics, "plimsoll_prometheus_history_points_total",
                                           "Points of history read from Prometheus.", NULL);
        return backfill;
}

void prometheus_backfill_free(struct prometheus_backfill *backfill) {
        prometheus_backfill_drop(backfill);
        free(backfill);
}
