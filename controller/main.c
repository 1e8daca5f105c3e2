/* plimsoll-controller: measures nodes, and writes annotations. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/settings.h"
#include "controller/web/pods_page.h"
#include "controller/web/status_page.h"
#include "daemon/daemon.h"
#include "net/http_server.h"
#include "policy/live/policy_source.h"

#define PROGRAM "plimsoll-controller"

enum {
        EXPECTED_NODES = 5120, /* before they are listed */
        SERVER_DRAIN_MS = 1000,
        /* Replies that arrive together are handled together. Times and durations of scrapes are as
         * exact as this. */
        REST_MS = 20,
        MMAP_THRESHOLD_BYTES = 256 << 10,
};

struct program {
        struct daemon *daemon;
        struct policy_source *policy_source;
        const struct source_list *sources;
        struct controller *controller;
        struct shared_page *page; /* NULL: --status-page=false */
        struct pods_page *pods;   /* the same */
};

static void on_controller_signal(void *userdata, int signal_number) {
        struct program *state = userdata;

        if (signal_number == SIGHUP) {
                policy_source_reload(state->policy_source);
                return;
        }
        log_info(MSG("shutting down"), INT("signal", signal_number));
        health_shut_down(state->daemon->health);
        controller_shut_down(state->controller);
}

static void on_request(void *userdata, struct http_exchange *exchange) {
        struct program *state = userdata;

        if (daemon_pages(state->daemon, exchange) ||
            (state->page && status_page_answer(state->page, exchange)) ||
            (state->pods && pods_page_answer(state->pods, exchange)))
                return;
        exchange->status = 404;
}

/* A connection is kept open to every node if there are enough descriptors. A quarter is for the
 * rest of the program, and for connections that curl has yet to close. Returns the number. */
static size_t raise_scrape_descriptors(void) {
        struct rlimit limit;

        (void)getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max; /* always allowed */
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        return (size_t)limit.rlim_cur / 4 * 3; /* no kernel allows RLIM_INFINITY here */
}

static int start_server(const struct settings *settings, struct program *state,
                        struct http_server **ret, struct error *err) {
        int r = http_server_start(
                &(struct http_server_options){
                        .bind_address = settings->bind_address,
                        .port = (uint16_t)settings->health_port,
                        .threads = 1,
                        .metrics = state->daemon->metrics,
                        .handler = on_request,
                        .userdata = state,
                },
                ret, err);
        if (r < 0)
                return r;
        log_info(MSG("serving"),
                 STR("address", settings->bind_address ? settings->bind_address : "*"),
                 INT("port", http_server_port(*ret)));
        return 0;
}

static void on_controller_policy(void *userdata, struct policy *policy) {
        struct program *state = userdata;

        controller_set_policy(state->controller, policy);
}

/* Runs until the loop ends. Consumes @policy. */
static int connect_and_run(const struct settings *settings, struct program *state,
                           struct policy *policy, struct error *err) {
        struct daemon *daemon = state->daemon;
        _cleanup_(http_client_freep) struct http_client *scrape_client = http_client_new(
                daemon->loop,
                &(struct http_client_options){
                        .max_in_flight = source_list_in_flight(state->sources, EXPECTED_NODES),
                        .max_descriptors = raise_scrape_descriptors(),
                        .user_agent = PROGRAM "/" PLIMSOLL_VERSION,
                });
        _cleanup_(controller_freep) struct controller *controller = NULL;
        _cleanup_(shared_page_freep) struct shared_page *page = NULL;
        _cleanup_(pods_page_freep) struct pods_page *pods = NULL;
        struct http_server *server = NULL;

        struct controller_options options = settings->controller;
        options.sources = state->sources;
        if (!options.writing.lease.namespace)
                options.writing.lease.namespace = kube_access_home(daemon->kube_access);
        const struct controller_parts parts = {daemon, scrape_client, state->policy_source};
        if (controller_new(&parts, &options, policy, &controller, err) < 0)
                return program_exit_code(err);
        state->controller = controller;
        if (settings->shared.has_status_page) {
                page = state->page = status_page_new(daemon->loop, controller_write_status,
                                                     controller);
                pods = state->pods = pods_page_new(daemon->loop, controller_write_pods, controller);
        }
        if (daemon->api)
                policy_source_watch_object(state->policy_source, daemon->api);
        if (daemon_on_signals(daemon, on_controller_signal, state, err) < 0)
                return program_exit_code(err);
        if (settings->has_server && start_server(settings, state, &server, err) < 0) {
                (void)error_wrap(err, err->code, "--bind-address, --health-port");
                return program_exit_code(err);
        }
        loop_set_rest(daemon->loop, REST_MS);
        loop_run(daemon->loop);
        if (page)
                shared_page_stop(page);
        if (pods)
                pods_page_stop(pods);
        if (server)
                http_server_stop(server, SERVER_DRAIN_MS);
        return controller_exit_code(controller);
}

static int run_controller(const struct settings *settings, struct error *err) {
        _cleanup_(daemon_done) struct daemon daemon = {0};
        _cleanup_(source_list_freep) struct source_list *file = NULL;
        _cleanup_(policy_source_freep) struct policy_source *source = NULL;
        struct program state = {.daemon = &daemon, .sources = settings->sources};
        struct policy *policy = NULL;

        if (daemon_init(&daemon, PROGRAM, settings_flagz(), err) < 0)
                return program_exit_code(err);
        if (settings->sources_path) {
                if (source_list_load(settings->sources_path, &settings->source_rules, &file, err) <
                    0)
                        return program_exit_code(err);
                state.sources = file;
        }
        const struct policy_source_options source_options = {
                .loop = daemon.loop,
                .metrics = daemon.metrics,
                .health = daemon.health,
                .path = settings->shared.policy_path,
                .is_strict = settings->shared.is_strict,
                .on_policy = on_controller_policy,
                .userdata = &state,
        };
        if (policy_source_new(&source_options, &source, &policy, err) < 0)
                return program_exit_code(err);
        state.policy_source = source;
        if (settings->controller.targets.count == 0 &&
            daemon_connect(&daemon, PROGRAM, &settings->shared.kube, err) < 0) {
                policy_free(policy);
                (void)error_wrap(
                        err, err->code,
                        "no cluster configuration (--dry-run --target NAME=URL needs none)");
                return program_exit_code(err);
        }
        return connect_and_run(settings, &state, policy, err);
}

static int run_command_line(int argc, char **argv) {
        enum options_outcome outcome;
        struct settings settings;
        struct error err = ERROR_NULL;

        daemon_begin();
        /* Large buffers (a list, a huge page) are returned to the system when they are freed. By
         * default, glibc raises this threshold after the first one, and keeps the others. */
        (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        if (settings_parse(argc, argv, &outcome, &settings, &err) < 0) {
                program_refuse_usage(PROGRAM, &err);
                return PROGRAM_EXIT_CONFIG;
        }
        if (outcome == OPTIONS_HELP) {
                settings_help(stdout);
                return 0;
        }
        if (outcome == OPTIONS_VERSION) {
                (void)printf(PROGRAM " " PLIMSOLL_VERSION "\n");
                return 0;
        }
        settings_begin();
        int code;
        if (settings.shared.is_check_config) {
                code = settings_check(&err) < 0 ? PROGRAM_EXIT_CONFIG : 0;
                if (code != 0)
                        (void)fprintf(stderr, PROGRAM ": %s\n", err.msg);
        } else {
                code = run_controller(&settings, &err);
                if (err.code < 0)
                        program_refuse_start(PROGRAM, &err);
        }
        settings_done(&settings);
        return code;
}

int main(int argc, char **argv) {
        return program_end(PROGRAM, run_command_line(argc, argv));
}
