#include "controller/source/scrape/scraper.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/node/spread.h"
#include "controller/source/scrape/scrape_pool.h"
#include "controller/source/scrape/scrape_reader.h"

enum {
        CONNECT_TIMEOUT_MS = 3000, /* a node that is gone must not occupy a place */
        SPREAD_SALT = 1,           /* so that scrapes and syncs do not coincide */
        BATCHES = 60,              /* the minimum per interval; a batch begins together */
        BATCH_TARGETS = 256,       /* larger batches save no more time per target */
        BACK_OFF_MAX = 8,          /* a node that comes back is read after two minutes */
};

struct target {
        struct scraper *source;
        struct node *node;
        struct loop_timer timer;
        int64_t due_mono_ms;              /* before it is rounded down to the time of a batch */
        int64_t whole_page_until_mono_ms; /* it rejected collect[]; 0: it did not */
        bool is_at_second_address;        /* the node was last reached there */
        struct scrape scrape;
        const char *failure; /* of the last scrape; NULL: it succeeded, or there was none */
        unsigned back_off_scrapes, skips_left; /* see back_off() */
        struct scrape_state state;
};

struct scraper {
        struct source head;

        struct target **targets; /* by the node's slot */
        size_t target_cap;
        struct scrape_pool pool;

        struct scrape_reader reader;
        struct credentials credentials;
        struct buf url;

        bool has_logged_fallback;
        struct metrics_series *scrapes_ok, *duration, *fallbacks, *malformed, *skipped;
};

static struct scraper *scraper_of(struct source *source) {
        return CONTAINER_OF(source, struct scraper, head);
}

static void start_waiting(struct scraper *source);

static enum scrape_lane lane_of(const struct target *target) {
        return target->failure ? SCRAPE_LANE_FAILING : SCRAPE_LANE_HEALTHY;
}

static const char no_address[] = "no_address";

/* Put the URL of the target's page into source->url. Return: NULL, or why there is none. */
static const char *build_url(struct target *target, bool with_collectors) {
        struct scraper *source = target->source;
        const struct node *node = target->node;
        const struct scrape_reader *reader = &source->reader;
        const char *template = source->head.spec->url;
        const char *address = target->is_at_second_address != target->scrape.is_to_other_address
                                      ? node->second_address
                                      : node->address;
        bool is_ok;

        buf_clear(&source->url);
        if (node->url && !source->head.spec->traits.scope.exporter)
                is_ok = buf_puts(&source->url, node->url);
        else if (!address && (!template || target_url_needs_address(template)))
                return no_address;
        else if (!template)
                is_ok = reader->profile->url(reader, node, address, &source->url);
        else
                is_ok = target_url_build(template, node->name, address, &source->url);
        if (is_ok && with_collectors)
                is_ok = target_url_add_collectors(source->reader.collectors,
                                                  source->reader.collector_count, &source->url);
        return is_ok ? NULL : "url_too_long";
}

/* Outcomes */

static struct metrics_series *scrapes_with(const struct scraper *source, const char *result) {
        return metrics_counter(source->head.metrics, "plimsoll_scrapes_total",
                               "Scrapes by source and result.",
                               LABELS("source", source->head.spec->name, "result", result));
}

static void target_failed(struct target *target, const char *reason, const char *detail) {
        struct scraper *source = target->source;

        metrics_inc(scrapes_with(source, reason));
        target->failure = reason;
        (void)build_url(target, false);
        source->head.sink.on_failure(
                &source->head.sink, target->node,
                &(struct source_failure){reason, detail, target_url_to_log(&source->url)});
}

/* A timeout occupies a place for seconds, which other failures do not. So a target that does not
 * answer again and again is scraped at the next time, then at every second, fourth, eighth. */
static void back_off(struct target *target) {
        unsigned scrapes = target->back_off_scrapes * 2;

        target->back_off_scrapes = scrapes == 0             ? 1
                                   : scrapes < BACK_OFF_MAX ? scrapes
                                                            : BACK_OFF_MAX;
        target->skips_left = target->back_off_scrapes - 1;
}

static void take_page(struct target *target, const struct scrape *scrape) {
        struct scraper *source = target->source;
        const struct kubelet_clocks clocks = {.now_mono_ms = loop_now_mono_ms(source->head.loop),
                                              .now_unix_ms = loop_now_unix_ms(source->head.loop)};
        struct scrape_result result;

        scrape_reader_take(&source->reader, &target->state, target->node, &scrape->page, &clocks,
                           &result);
        metrics_add(source->malformed, result.malformed);
        if (result.failure) {
                target_failed(target, result.failure, result.detail);
                return;
        }
        target->failure = NULL;
        metrics_inc(source->scrapes_ok);
        source->head.sink.on_reading(&source->head.sink, target->node, &result.reading);
}

static void fail_over_budget(struct target *target) {
        target_failed(target, "over_budget", "the pages in flight exceed their memory budget");
}

static bool on_data(void *userdata, const char *data, size_t len) {
        struct scrape *scrape = userdata, *largest;
        struct target *target = scrape->owner;
        struct scraper *source = target->source;

        scrape_pool_append(&source->pool, scrape, data, len);
        while ((largest = scrape_pool_excess(&source->pool, scrape)) != NULL) {
                if (largest == scrape) {
                        scrape->is_over_budget = true;
                        return false;
                }
                http_cancel(TAKE_PTR(largest->call));
                scrape_pool_end(&source->pool, largest);
                fail_over_budget(largest->owner);
        }
        return true;
}

/* Only for the first target. */
static void log_fallback(struct target *target) {
        struct scraper *source = target->source;

        if (source->has_logged_fallback)
                return;
        source->has_logged_fallback = true;
        (void)build_url(target, false);
        log_info(MSG("exporter has a needed collector disabled, scraping its whole page instead"),
                 STR("node", target->node->name), STR("url", target_url_to_log(&source->url)));
}

static void on_scrape_done(void *userdata, const struct http_response *response) {
        struct scrape *scrape = userdata;
        struct target *target = scrape->owner;
        struct scraper *source = target->source;
        bool is_refused = response->failure == HTTP_OK && response->status == 400 &&
                          scrape->with_collectors;
        bool is_late = response->failure == HTTP_TIMEOUT;
        bool is_unreachable = (response->failure == HTTP_CONNECT ||
                               (is_late && !response->is_sent)) &&
                              target->node->second_address && !scrape->is_to_other_address;

        scrape->call = NULL;
        if (!is_late)
                target->back_off_scrapes = 0;
        if (response->failure == HTTP_OK && scrape->is_to_other_address)
                target->is_at_second_address = !target->is_at_second_address;
        scrape->is_to_other_address = false;
        metrics_observe(source->duration, (double)response->duration_ms / 1000);
        if (scrape->is_over_budget) {
                fail_over_budget(target);
        } else if (is_unreachable) {
                /* A dual-stack node's exporter may listen on addresses of one family only, and a
                 * firewall may drop what is sent to the other. */
                scrape->is_to_other_address = true;
        } else if (response->failure != HTTP_OK) {
                if (is_late)
                        back_off(target);
                target_failed(target, http_failure_name(response->failure), response->err.msg);
        } else if (is_refused) {
                /* A collector is disabled. Scrape the whole page, now and for a while. */
                target->whole_page_until_mono_ms = loop_now_mono_ms(source->head.loop) +
                                                   SCRAPE_WHOLE_PAGE_MS;
                metrics_inc(source->fallbacks);
                log_fallback(target);
        } else if (response->status != 200) {
                const char *reason = http_status_reason(response->status);
                char detail[256];
                (void)snprintf(detail, sizeof(detail), "HTTP status %d; see %s", response->status,
                               source_hint(source->head.spec->kind, reason));
                target_failed(target, reason, detail);
        } else {
                /* Otherwise, a page that does not end with a line feed may be truncated. */
                if (response->has_length)
                        scrape_pool_append(&source->pool, scrape, "\n", 1);
                take_page(target, scrape);
        }
        scrape_pool_end(&source->pool, scrape);
        if (is_refused || is_unreachable)
                scrape_pool_wait(&source->pool, scrape, lane_of(target));
        start_waiting(source);
}

/* The node's time in the interval, in [0, 1). */
static double phase_ratio(const struct scraper *source, const struct node *node) {
        int64_t interval_ms = source->head.spec->traits.interval_ms;

        return (double)spread_phase_ms(node->name, SPREAD_SALT, interval_ms) / (double)interval_ms;
}

/* The scrape cannot be sent. */
static void refuse_scrape(struct target *target, const char *reason, const char *detail) {
        scrape_pool_end(&target->source->pool, &target->scrape);
        target_failed(target, reason, detail);
}

static void start_scrape(struct scraper *source, struct target *target) {
        bool is_whole = loop_now_mono_ms(source->head.loop) < target->whole_page_until_mono_ms;
        bool with_collectors = source->reader.collector_count > 0 && !is_whole;
        struct error err = ERROR_NULL;

        const char *reason = build_url(target, with_collectors);
        if (reason) {
                refuse_scrape(
                        target, reason,
                        reason == no_address
                                ? "the node has no address of the types in --node-address-types"
                                : "the URL is too long with its placeholders replaced");
                return;
        }
        struct credentials *credentials = &source->credentials;
        if (credentials_refresh(credentials, loop_now_mono_ms(source->head.loop), &err) < 0) {
                refuse_scrape(target, "credentials", err.msg);
                return;
        }

        const char *headers[CREDENTIALS_MAX_HEADERS + 3] = {
                "Accept: text/plain;version=0.0.4,*/*;q=0.1"};
        credentials_put_headers(credentials, headers);
        struct http_tls tls = credentials->tls;
        if (source->reader.profile->url && !tls.is_insecure && !tls.server_name)
                tls.server_name = target->node->name;
        target->scrape.with_collectors = with_collectors;
        target->scrape.call = http_start(source->head.client,
                                         &(struct http_request){
                                                 .method = "GET",
                                                 .url = source->url.data,
                                                 .headers = headers,
                                                 .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                                 .timeout_ms = source_timeout_ms(&source->head),
                                                 .max_body_bytes = SCRAPE_MAX_PAGE_BYTES,
                                                 .basic_auth = credentials->basic_auth,
                                                 .tls = &tls,
                                                 .has_phase = true,
                                                 .phase_ratio = phase_ratio(source, target->node),
                                                 .on_data = on_data,
                                                 .on_done = on_scrape_done,
                                                 .userdata = &target->scrape,
                                         });
}

static void start_waiting(struct scraper *source) {
        struct scrape *scrape;

        while ((scrape = scrape_pool_next(&source->pool)) != NULL)
                start_scrape(source, scrape->owner);
}

/* Schedule */

/* The time at which the batch begins. Even an interval of one second has a millisecond for each
 * batch of NODE_SET_MAX targets. */
static int64_t batch_mono_ms(const struct scraper *source, int64_t due_mono_ms) {
        size_t batches = size_max(BATCHES, source->pool.targets / BATCH_TARGETS);
        int64_t grid_ms = source->head.spec->traits.interval_ms / (int64_t)batches;

        return due_mono_ms - due_mono_ms % grid_ms;
}

static void on_target_due(void *userdata) {
        struct target *target = userdata;
        struct scraper *source = target->source;
        int64_t now_mono_ms = loop_now_mono_ms(source->head.loop), next_mono_ms;

        do {
                target->due_mono_ms += source->head.spec->traits.interval_ms;
                next_mono_ms = batch_mono_ms(source, target->due_mono_ms);
        } while (next_mono_ms <= now_mono_ms);
        loop_timer_arm(source->head.loop, &target->timer, next_mono_ms, on_target_due, target);
        if (!source->head.sink.is_needed(&source->head.sink, target->node)) {
                target->failure = NULL;
                return;
        }
        if (target->skips_left > 0) {
                target->skips_left--;
                return;
        }
        if (target->scrape.phase != SCRAPE_IDLE) {
                metrics_inc(source->skipped);
                return;
        }
        scrape_pool_wait(&source->pool, &target->scrape, lane_of(target));
        start_waiting(source);
}

/* As a source */

int scraper_check(const struct source_spec *spec, const char **ret_field, struct error *err) {
        *ret_field = "url";
        return spec->url ? target_url_check(spec->url, err) : 0;
}

size_t scraper_in_flight(size_t targets) {
        return scrape_pool_places(SCRAPE_LANE_HEALTHY, targets) +
               scrape_pool_places(SCRAPE_LANE_FAILING, targets);
}

void scraper_set_policy(struct source *base, const struct policy *policy) {
        struct scraper *source = scraper_of(base);

        scrape_reader_set_policy(&source->reader, policy, &source->head.spec->traits.scope,
                                 source->head.network);
        for (size_t i = 0; i < source->target_cap; i++) {
                struct target *target = source->targets[i];
                if (!target)
                        continue;
                node_state_forget_own(&target->state.node);
                if (target->scrape.phase != SCRAPE_UNDER_WAY)
                        continue;
                /* Again, with the URL for this policy. */
                http_cancel(TAKE_PTR(target->scrape.call));
                scrape_pool_end(&source->pool, &target->scrape);
                scrape_pool_wait(&source->pool, &target->scrape, lane_of(target));
        }
        start_waiting(source);
}

static void reset_target(struct target *target) {
        struct scraper *source = target->source;

        http_cancel(TAKE_PTR(target->scrape.call));
        scrape_pool_end(&source->pool, &target->scrape);
        scrape_state_done(&target->state);
        target->whole_page_until_mono_ms = 0;
        target->back_off_scrapes = target->skips_left = 0;
        target->is_at_second_address = target->scrape.is_to_other_address = false;
}

/* A node's time in every interval does not depend on when it was added. */
static int64_t first_due_mono_ms(const struct scraper *source, const struct node *node) {
        int64_t interval_ms = source->head.spec->traits.interval_ms;
        int64_t now_mono_ms = loop_now_mono_ms(source->head.loop);
        int64_t phase_ms = spread_phase_ms(node->name, SPREAD_SALT, interval_ms) +
                           source->head.delay_ms;
        int64_t due_mono_ms = now_mono_ms - now_mono_ms % interval_ms + phase_ms % interval_ms;

        return due_mono_ms < now_mono_ms ? due_mono_ms + interval_ms : due_mono_ms;
}

void scraper_add_node(struct source *base, struct node *node) {
        struct scraper *source = scraper_of(base);
        int64_t now_mono_ms = loop_now_mono_ms(source->head.loop);

        while (node->slot >= source->target_cap) {
                size_t cap = source->target_cap ? source->target_cap * 2 : 64;
                source->targets = xreallocarray(source->targets, cap, sizeof(struct target *));
                memset(source->targets + source->target_cap, 0,
                       (cap - source->target_cap) * sizeof(struct target *));
                source->target_cap = cap;
        }
        struct target *target = source->targets[node->slot];
        if (target) { /* the node has moved: the state belongs to the old address */
                reset_target(target);
                start_waiting(source);
                return;
        }
        target = xcalloc(1, sizeof(*target));
        target->source = source;
        target->node = node;
        target->scrape.owner = target;
        source->targets[node->slot] = target;
        source->pool.targets++;
        target->due_mono_ms = source->head.is_at_once ? now_mono_ms
                                                      : first_due_mono_ms(source, node);
        loop_timer_arm(source->head.loop, &target->timer,
                       batch_mono_ms(source, target->due_mono_ms), on_target_due, target);
}

static void drop_target(struct scraper *source, size_t slot) {
        struct target *target = source->targets[slot];

        source->targets[slot] = NULL;
        source->pool.targets--;
        loop_timer_disarm(source->head.loop, &target->timer);
        reset_target(target);
        free(target);
}

void scraper_remove_node(struct source *base, struct node *node) {
        struct scraper *source = scraper_of(base);

        if (node->slot < source->target_cap && source->targets[node->slot]) {
                drop_target(source, node->slot);
                start_waiting(source); /* it may have occupied a place */
        }
}

void scraper_free(struct source *base) {
        struct scraper *source = scraper_of(base);

        for (size_t i = 0; i < source->target_cap; i++)
                if (source->targets[i])
                        drop_target(source, i);
        scrape_pool_done(&source->pool);
        free(source->targets);
        scrape_reader_done(&source->reader);
        credentials_done(&source->credentials);
        buf_done(&source->url);
        free(source);
}

static void register_scrape_metrics(struct scraper *source) {
        struct metrics *metrics = source->head.metrics;

        source->scrapes_ok = scrapes_with(source, "ok");
        source->duration = metrics_histogram(metrics, "plimsoll_scrape_duration_seconds",
                                             "Duration of one scrape, at most 20 ms too long.",
                                             LABELS("source", source->head.spec->name),
                                             &metrics_duration_bounds);
        source->fallbacks = metrics_counter(
                metrics, "plimsoll_scrape_fallbacks_total",
                "Times an exporter refused collect[], after which its whole page is scraped.",
                NULL);
        source->malformed = metrics_counter(
                metrics, "plimsoll_scrape_malformed_total",
                "Lines of wanted families that were malformed or had an unusable value.", NULL);
        source->skipped = metrics_counter(
                metrics, "plimsoll_scrapes_skipped_total",
                "Scrapes skipped because the previous one was in flight or queued.",
                LABELS("source", source->head.spec->name));
}

/* A failing target without a previous page is awaited only if another node answers for it: then the
 * page may be the one in question. */
static const struct scrape_state *scraped_state_of(void *userdata, const struct node *node) {
        const struct scraper *source = userdata;
        const struct target *target =
                source->targets[node->slot]; /* every node of the set has one */
        bool is_silent = target->failure && target->failure != scrape_reader_other_node &&
                         target->state.node.cpu_count == 0;

        return is_silent ? NULL : &target->state;
}

struct source *scraper_new(const struct source *head) {
        const struct source_spec *spec = head->spec;
        struct scraper *source = xcalloc(1, sizeof(*source));

        source->head = *head;
        scrape_reader_init(&source->reader, spec->kind, scraped_state_of, source);
        credentials_init(&source->credentials, &spec->credentials, spec->kind->uses_account);
        source->url = BUF_INIT(TARGET_URL_MAX);
        scrape_pool_init(&source->pool, SCRAPE_MAX_PAGE_BYTES);
        register_scrape_metrics(source);
        return &source->head;
}
